// The operator: everything composed from a configuration, run until it is asked to end or has lost its Lease.
import { setTimeout as sleep } from 'node:timers/promises';
import { assemble } from './assemble.ts';
import { type OperatorConfig, version } from './config.ts';
import { ensureCrds } from './crds/ensure-crds.ts';
import { KubeClient } from './kube/client.ts';
import { EventRecorder } from './kube/event-recorder.ts';
import { LeaderElector } from './kube/lease.ts';
import type { Log } from './log.ts';
import { HealthServer } from './metrics/health-server.ts';
import { OperatorMetrics } from './metrics/operator-metrics.ts';
import { ownReplicaSet } from './own-pod.ts';
import type { Stores } from './stores.ts';

export const fieldManager = 'mediarooms-operator';
/** Lease of an operator of named namespaces, in its own; of one that watches all, in the namespace that every cluster has. */
const leaseName = 'mediarooms-operator';
const clusterWide = { namespace: 'kube-system', name: 'mediarooms-operator-cluster-wide' };
/** Longest that lists at the start may take. */
const syncTimeoutMs = 120_000;
/** Longest that work under way is waited for at the end. */
const endTimeoutMs = 20_000;

export class Operator {
  readonly #config: OperatorConfig;
  readonly #log: Log;
  readonly #ending = new AbortController();
  readonly #metrics = new OperatorMetrics();
  #stores: Stores | undefined;
  #elector: LeaderElector | undefined;
  #health: HealthServer | undefined;

  constructor(config: OperatorConfig, log: Log) {
    this.#config = config;
    this.#log = log;
  }

  /** Port of /metrics, /healthz and /readyz, once it runs. */
  get port(): number | undefined {
    return this.#health?.port;
  }

  /** Asks it to end: work under way is finished, the Lease given back. Idempotent. */
  close(): void {
    this.#ending.abort(new Error('the operator ends'));
  }

  /** @returns undefined where it was asked to end, else why it ended in one sentence */
  async run(): Promise<string | undefined> {
    const { ip, port } = this.#config;
    const client = await connect(this.#config, this.#log, this.#metrics);
    this.#health = await HealthServer.start({
      ip,
      port,
      metrics: { contentType: this.#metrics.contentType, text: () => this.#metrics.text() },
      healthy: [{ name: 'watches', check: () => this.#stores?.stalled() }],
      // One that waits for the Lease is ready too: it is what takes over.
      ready: [{ name: 'synced', check: () => (this.#stores ? this.#stores.unsynced() : 'the API server has not answered yet') }],
      log: this.#log,
    });
    this.#log.info({ ip, port: this.#health.port }, 'metrics and health listen');
    try {
      return await this.#work(client);
    } catch (error) {
      return this.#ending.signal.aborted ? undefined : error instanceof Error ? error.message : String(error);
    } finally {
      this.#ending.abort(new Error('the operator ends'));
      await this.#health.close();
      await client.close();
    }
  }

  async #work(client: KubeClient): Promise<string | undefined> {
    const { signal } = this.#ending;
    const reading = client.scoped({ signal });
    await ensureCrds({
      client: reading,
      log: this.#log,
      apply: this.#config.applyDefinitions,
      signal,
      sleep: (ms, ended) => sleep(ms, undefined, { signal: ended }),
      now: () => performance.now(),
    });
    // Writes of one who lost the Lease are refused before they are sent.
    const writing = client.scoped({ mayWrite: () => !this.#config.leaderElection || (this.#elector?.leading ?? false) });
    // What was done is told also after the Lease is given back.
    const recorder = this.#recorder(client);
    const common = { config: this.#config, log: this.#log, metrics: this.#metrics };
    const { stores, rooms, clusters } = await assemble({ ...common, reading, writing, recorder });
    this.#stores = stores;
    const running = stores.run(signal);
    await stores.whenSynced(AbortSignal.any([signal, AbortSignal.timeout(syncTimeoutMs)]));
    const lead = async (lost: AbortSignal) => {
      this.#log.info('this operator works now');
      await Promise.all([rooms.run(lost), clusters.run(lost)]);
    };
    try {
      return await this.#lead(client, lead);
    } finally {
      this.#ending.abort(new Error('the operator ends'));
      await recorder.close();
      await running;
    }
  }

  async #lead(client: KubeClient, lead: (lost: AbortSignal) => Promise<void>): Promise<string | undefined> {
    const { signal } = this.#ending;
    const { leaderElection, leaseDuration, namespace, namespaces, identity } = this.#config;
    if (!leaderElection) {
      await within(endTimeoutMs, signal, lead(signal));
      return undefined;
    }
    const place = namespaces.length === 0 ? clusterWide : { namespace, name: leaseName };
    const elector = new LeaderElector({
      client,
      ...place,
      // Owners are of the same namespace.
      owner: place.namespace === namespace ? await ownReplicaSet(client, namespace, identity) : undefined,
      identity,
      leaseMs: leaseDuration,
      // In client-go's proportions: 15 s, 10 s, 2 s.
      renewMs: (leaseDuration * 2) / 3,
      retryMs: (leaseDuration * 2) / 15,
      log: this.#log,
      onChange: (leading) => this.#metrics.leading(place.name, leading),
    });
    this.#elector = elector;
    const why = await within(endTimeoutMs, signal, elector.run(signal, lead));
    return why === 'lost' ? 'the Lease was lost' : undefined;
  }

  #recorder(client: KubeClient): EventRecorder {
    return new EventRecorder({ client, controller: 'mediarooms.dev/operator', instance: this.#config.identity, log: this.#log });
  }
}

export function connect(config: OperatorConfig, log: Log, metrics?: OperatorMetrics): Promise<KubeClient> {
  return KubeClient.connect({
    kubeconfig: config.kubeconfig,
    log,
    userAgent: `mediarooms-operator/${version}`,
    timeoutMs: config.apiTimeout,
    fieldManager,
    observe: (call) => metrics?.call(call),
  });
}

/** The work, for at most so long after the signal. */
async function within<T>(ms: number, signal: AbortSignal, work: Promise<T>): Promise<T> {
  const overdue = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => setTimeout(() => reject(new Error('work under way took too long')), ms).unref(), { once: true });
  });
  return await Promise.race([work, overdue]);
}
