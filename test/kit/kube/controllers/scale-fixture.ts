// Scale fixture: many Rooms and MediaClusters on a real API server with stand-in pods, and how long until all are Ready.

import { eachOf } from '../../../../operator/each-of.ts';
import { KubeClient } from '../../../../operator/kube/client.ts';
import { resources, type Stored } from '../../../../operator/kube/objects.ts';
import { Reflector } from '../../../../operator/kube/reflector.ts';
import type { MediaCluster, Room } from '../../../../operator/objects.ts';
import { PeakMemory } from '../../processes/memory.ts';
import { silentLog } from '../../silent-log.ts';
import { type ApiServer, startApiServer } from '../api-server.ts';
import { isReady } from '../cluster-fixture.ts';
import { applyDefinitions } from '../media-clusters.ts';
import { type OperatorOptions, type OperatorProcess, startOperator } from '../operator-process.ts';
import { StandInPods } from '../pods/stand-in-pods.ts';
import { mediaCluster, room } from '../read-objects.ts';
import type { Scope } from '../scope.ts';

export type ScaleResult = {
  /** Milliseconds until all objects were written, and from the first one until all were Ready. */
  appliedMs: number;
  readyMs: number;
  /** Most memory of the operator. */
  peakBytes: number;
};

/** Concurrent requests of the client that writes the objects. */
const width = 32;

export class ScaleFixture {
  readonly server: ApiServer;
  readonly operator: OperatorProcess;
  readonly pods: StandInPods;
  readonly #client: KubeClient;
  readonly #ready = new Set<string>();
  #changed = () => {};

  private constructor(server: ApiServer, operator: OperatorProcess, pods: StandInPods, client: KubeClient) {
    this.server = server;
    this.operator = operator;
    this.pods = pods;
    this.#client = client;
  }

  static async start(scope: Scope, options: OperatorOptions = {}): Promise<ScaleFixture> {
    const server = await startApiServer(scope);
    await applyDefinitions(server);
    const pods = await StandInPods.start(server);
    const operator = startOperator(scope, server, options);
    await operator.says(/started leading/);
    const common = { log: silentLog(), userAgent: 'mediarooms-scale', timeoutMs: 60_000, fieldManager: 'scale' };
    const client = await KubeClient.connect({ kubeconfig: server.kubeconfig, ...common });
    const fixture = new ScaleFixture(server, operator, pods, client);
    const ending = new AbortController();
    const watches = [fixture.#watch<Room>(resources.rooms), fixture.#watch<MediaCluster>(resources.mediaClusters)];
    const running = watches.map((watch) => watch.run(ending.signal));
    server.beforeEnd(async () => {
      ending.abort();
      await Promise.all(running);
      await client.close();
    });
    await Promise.all(watches.map((watch) => watch.whenSynced(AbortSignal.timeout(60_000))));
    return fixture;
  }

  /** Writes MediaClusters of one node, and Rooms that are spread over them, and waits until all are Ready. */
  async apply({ clusters, rooms, withinMs }: { clusters: number; rooms: number; withinMs: number }): Promise<ScaleResult> {
    const all = this.#until(clusters + rooms, withinMs);
    const began = performance.now();
    const media = { exposure: 'podIP' };
    const clusterAt = (index: number) => this.#client.create(resources.mediaClusters, mediaCluster(`c-${index}`, { replicas: 1, media }));
    const roomAt = (index: number) =>
      this.#client.create(resources.rooms, room(`r-${index}`, { clusterRef: { name: `c-${index % clusters}` } }) as never);
    const peak = new PeakMemory(this.operator.pid);
    try {
      await eachOf([...Array(clusters).keys()], width, clusterAt);
      await eachOf([...Array(rooms).keys()], width, roomAt);
      const appliedMs = performance.now() - began;
      await all;
      return { appliedMs, readyMs: performance.now() - began, peakBytes: peak.end() };
    } finally {
      peak.end();
    }
  }

  #watch<T extends Room | MediaCluster>(resource: typeof resources.rooms | typeof resources.mediaClusters): Reflector<T> {
    return new Reflector<T>({
      client: this.#client,
      resource,
      namespaces: ['default'],
      log: silentLog(),
      onChange: (object: Stored<T>) => {
        if (isReady(object)) this.#ready.add(object.metadata.uid);
        else this.#ready.delete(object.metadata.uid);
        this.#changed();
      },
      onDelete: () => {},
    });
  }

  #until(count: number, withinMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const state = () => `${this.#ready.size} of ${count} are Ready after ${withinMs} ms:\n${this.operator.output.slice(-3_000)}`;
      const timer = setTimeout(() => reject(new Error(state())), withinMs);
      this.#changed = () => {
        if (this.#ready.size < count) return;
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
