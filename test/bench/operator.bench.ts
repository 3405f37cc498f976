// Operator benchmark: 1,000 Rooms applied at once until they are Ready, the cost, detection of ended rooms, and load when idle.
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eachOf } from '../../operator/each-of.ts';
import { KubeClient } from '../../operator/kube/client.ts';
import { type KubeObject, resources, type Stored } from '../../operator/kube/objects.ts';
import { Reflector } from '../../operator/kube/reflector.ts';
import type { Room } from '../../operator/objects.ts';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { type ClusterFixture, isReady, startClusterFixture } from '../kit/kube/cluster-fixture.ts';
import { PeakMemory } from '../kit/processes/memory.ts';
import { silentLog } from '../kit/silent-log.ts';
import { residentMemory, usedCpu } from './processes.ts';
import type { Report, Row } from './report.ts';
import { quantile } from './statistics.ts';
import '../kit/processes/worker-bin.ts';
import { benchContext } from './bench-context.ts';

const count = 1_000;
const nodes = 2;
/** Number of concurrent requests of the client that applies the Rooms. */
const width = 32;
const deletions = 100;
const idleMs = 60_000;
const timeoutMs = 180_000;

export async function benchOperator(report: Report): Promise<void> {
  const { t: scope, end } = benchContext();
  try {
    const program = await bundle(scope);
    const fixture = await startClusterFixture(scope, {
      spec: { replicas: nodes, workersPerNode: 1 },
      operator: { program, env: { ...environmentOfImage(), OPERATOR_LOG_LEVEL: 'info' } },
    });
    await fixture.runner.waitForPod(`media-${nodes - 1}`);
    const bench = await Bench.start(scope, fixture);
    report.print(`Operator with ${count} Rooms on ${nodes} nodes, all on the same cores`, [
      ...(await bench.apply()),
      ...(await bench.react()),
      ...(await bench.rest()),
    ]);
  } finally {
    await end();
  }
}

/** The operator with the settings of its image. */
export async function bundle(scope: { after: (end: () => unknown) => void }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mediarooms-bench-operator-'));
  scope.after(() => rm(folder, { recursive: true, force: true }));
  const { buildOperator } = await import('../../tools/images/build-operator.mjs');
  return (await buildOperator(folder)).file;
}

/** Environment of the image of the operator. */
export function environmentOfImage(): Record<string, string> {
  const text = readFileSync(join(import.meta.dirname, '../../operator/Dockerfile'), 'utf8');
  const lines = /^ENV ((?:.*\\\n)*.*)$/m.exec(text)?.[1] ?? '';
  return Object.fromEntries([...lines.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]));
}

class Bench {
  readonly #fixture: ClusterFixture;
  readonly #client: KubeClient;
  readonly #node: ApiClient;
  readonly #seen = new Set<(room: Stored<Room>) => void>();

  private constructor(fixture: ClusterFixture, client: KubeClient, node: ApiClient) {
    this.#fixture = fixture;
    this.#client = client;
    this.#node = node;
  }

  static async start(scope: { after: (end: () => unknown) => void }, fixture: ClusterFixture): Promise<Bench> {
    const { kubeconfig } = fixture.server;
    const common = { log: silentLog(), userAgent: 'mediarooms-bench', timeoutMs: 60_000, fieldManager: 'bench' };
    const client = await KubeClient.connect({ kubeconfig, ...common });
    const bench = new Bench(fixture, client, await fixture.api('media-0'));
    const ending = new AbortController();
    const rooms = new Reflector<Room>({
      client,
      resource: resources.rooms,
      namespaces: ['default'],
      log: silentLog(),
      onChange: (room) => {
        for (const seen of [...bench.#seen]) seen(room);
      },
      onDelete: () => {},
    });
    const running = rooms.run(ending.signal);
    scope.after(async () => {
      ending.abort();
      await running;
      await client.close();
    });
    await rooms.whenSynced(AbortSignal.timeout(20_000));
    return bench;
  }

  async apply(): Promise<Row[]> {
    const plain = await timed(() =>
      atOnce((index) =>
        this.#client.apply(resources.configMaps, named('v1', 'ConfigMap', `plain-${index}`, { data: { index: `${index}` } })),
      ),
    );
    const direct = await timed(() => atOnce((index) => this.#node.post('/room', { roomId: `direct-${index}` })));
    await atOnce((index) => this.#node.delete(`/room/direct-${index}`));
    const before = { writes: await this.#writes(), cpu: usedCpu(this.#fixture.operator.pid) };
    const memory = new PeakMemory(this.#fixture.operator.pid);
    const ready = new Set<string>();
    const all = this.#when((room) => isReady(room) && ready.add(room.metadata.name).size === count);
    let applied = 0;
    const took = await timed(async () => {
      const began = performance.now();
      await atOnce((index) => this.#client.apply(resources.rooms, named('mediarooms.dev/v1alpha2', 'Room', `room-${index}`, { spec: {} })));
      applied = performance.now() - began;
      await all;
    });
    const cpu = usedCpu(this.#fixture.operator.pid) - before.cpu;
    const most = memory.end();
    await this.#calm();
    const written = (await this.#writes()) - before.writes;
    return [
      {
        what: 'time to apply all',
        value: applied / 1000,
        unit: 's',
        baseline: { what: 'ConfigMaps', value: plain / 1000 },
      },
      {
        what: 'time until all are Ready',
        value: took / 1000,
        unit: 's',
        baseline: { what: 'ConfigMaps applied', value: plain / 1000 },
        goal: '20 s',
      },
      { what: 'the same, compared with REST', value: took / 1000, unit: 's', baseline: { what: 'POST /room', value: direct / 1000 } },
      { what: 'CPU of the operator', value: cpu / 1000, unit: 's' },
      { what: 'peak memory of the operator', value: most / 2 ** 20, unit: 'MiB', goal: 'below 200' },
      { what: 'API writes per Room, including Events', value: written / count, unit: '', goal: 'below 6' },
    ];
  }

  /** Deletes rooms over REST sequentially and waits until their Rooms are Finished. */
  async react(): Promise<Row[]> {
    const times: number[] = [];
    for (let index = 0; index < deletions; index += 1) {
      const finished = this.#when(({ metadata, status }) => metadata.name === `room-${index}` && status?.phase === 'Finished');
      await this.#node.delete(`/room/room-${index}`);
      times.push(await timed(() => finished));
    }
    const bare: number[] = [];
    for (let index = 0; index < deletions; index += 1) {
      const name = `room-${count - 1 - index}`;
      const changed = this.#when(({ metadata }) => metadata.name === name && metadata.annotations?.touched === `${index}`);
      bare.push(
        await timed(async () => {
          await this.#client.patch(resources.rooms, { namespace: 'default', name }, { metadata: { annotations: { touched: `${index}` } } });
          await changed;
        }),
      );
    }
    const row = (what: string, share: number): Row => ({
      what: `Room is Finished after its room was deleted over REST, ${what}`,
      value: quantile(times, share),
      unit: 'ms',
      baseline: { what: 'a patch received by a watch', value: quantile(bare, share) },
    });
    return [row('median', 0.5), row('p99', 0.99)];
  }

  /** Requests when nothing happens. */
  async rest(): Promise<Row[]> {
    const { operator } = this.#fixture;
    await this.#calm();
    const before = { requests: await operator.metric('rest_client_requests_total'), cpu: usedCpu(operator.pid) };
    await sleep(idleMs);
    const requests = (await operator.metric('rest_client_requests_total')) - before.requests;
    const cpu = usedCpu(operator.pid) - before.cpu;
    return [
      { what: 'idle, requests to the API server per minute, including the Lease', value: (requests * 60_000) / idleMs, unit: '' },
      { what: 'idle, CPU', value: (cpu / idleMs) * 1000, unit: 'ms/s' },
      { what: 'idle, memory', value: residentMemory(operator.pid) / 2 ** 20, unit: 'MiB' },
    ];
  }

  /** Waits until all Events are written, ten per second. */
  async #calm(): Promise<void> {
    const until = performance.now() + timeoutMs;
    for (let last = Number.NEGATIVE_INFINITY; performance.now() < until; ) {
      const now = await this.#writes();
      if (now - last <= 5) return;
      last = now;
      await sleep(5_000);
    }
  }

  async #writes(): Promise<number> {
    const { operator } = this.#fixture;
    const by = (method: string) => operator.metric('rest_client_requests_total', `method="${method}"`);
    return (await by('POST')) + (await by('PATCH')) + (await by('DELETE'));
  }

  /** Resolves with the first Room that satisfies the predicate. */
  #when(holds: (room: Stored<Room>) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        this.#seen.delete(check);
      };
      const check = (room: Stored<Room>) => {
        if (!holds(room)) return;
        end();
        resolve();
      };
      const timer = setTimeout(() => {
        end();
        reject(new Error(`not seen within ${timeoutMs} ms:\n${this.#fixture.operator.output.slice(-3_000)}`));
      }, timeoutMs);
      this.#seen.add(check);
    });
  }
}

function named(apiVersion: string, kind: string, name: string, fields: object): KubeObject {
  return { apiVersion, kind, metadata: { name, namespace: 'default' }, ...fields };
}

function atOnce(work: (index: number) => Promise<unknown>): Promise<void> {
  return eachOf([...Array(count).keys()], width, work);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
