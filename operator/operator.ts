// Operator: composes all parts from a configuration and runs until shutdown or loss of the Lease.
import { setTimeout as sleep } from 'node:timers/promises';
import type { OtlpTracer } from '../tracing/otlp-tracer.ts';
import { assemble } from './assemble.ts';
import { type OperatorConfig, version } from './config.ts';
import { ensureCrds } from './crds/ensure-crds.ts';
import { messageOf } from './error-message.ts';
import { KubeClient } from './kube/client.ts';
import { EventRecorder } from './kube/event-recorder.ts';
import { LeaderElector } from './kube/lease.ts';
import { NamespaceClaims } from './kube/namespace-claims.ts';
import type { OwnerReference } from './kube/objects.ts';
import type { Log } from './log.ts';
import { HealthServer } from './metrics/health-server.ts';
import { OperatorMetrics } from './metrics/operator-metrics.ts';
import { ownReplicaSet } from './own-pod.ts';
import type { Stores } from './stores.ts';

export const fieldManager = 'mediarooms-operator';
/** Name of the Lease: in the local namespace, or in kube-system for an operator of all namespaces. */
const leaseName = 'mediarooms-operator';
const clusterWide = { namespace: 'kube-system', name: 'mediarooms-operator-cluster-wide' };
/** Timeout of the initial lists. */
const syncTimeoutMs = 120_000;
/** Timeout for running reconciles at shutdown. */
const endTimeoutMs = 20_000;
/** Timeout for the last spans. */
const flushTimeoutMs = 2_000;

export class Operator {
  readonly #config: OperatorConfig;
  readonly #log: Log;
  readonly #ending = new AbortController();
  readonly #metrics = new OperatorMetrics();
  #tracer: OtlpTracer | undefined;
  #stores: Stores | undefined;
  #elector: LeaderElector | undefined;
  #health: HealthServer | undefined;

  constructor(config: OperatorConfig, log: Log) {
    this.#config = config;
    this.#log = log;
  }

  /** Port of /metrics, /healthz and /readyz, once it is listening. */
  get port(): number | undefined {
    return this.#health?.port;
  }

  /** Requests a shutdown: running reconciles finish and the Lease is released. Idempotent. */
  close(): void {
    this.#ending.abort(new Error('the operator is shutting down'));
  }

  /** @returns undefined after a requested shutdown, otherwise the reason as a message */
  async run(): Promise<string | undefined> {
    const { ip, port } = this.#config;
    this.#tracer = await this.#startTracing();
    const client = await connect(this.#config, this.#log, this.#metrics);
    this.#health = await HealthServer.start({
      ip,
      port,
      metrics: { contentType: this.#metrics.contentType, text: () => this.#metrics.text() },
      healthy: [{ name: 'watches', check: () => this.#stores?.stalled() }],
      // A process that waits for the Lease is ready too, because it can take over.
      ready: [{ name: 'synced', check: () => (this.#stores ? this.#stores.unsynced() : 'the API server has not responded yet') }],
      log: this.#log,
    });
    this.#log.info({ ip, port: this.#health.port }, 'metrics and health server listening');
    try {
      return await this.#work(client);
    } catch (error) {
      return this.#ending.signal.aborted ? undefined : messageOf(error);
    } finally {
      this.#ending.abort(new Error('the operator is shutting down'));
      await this.#health.close();
      await client.close();
      await this.#tracer?.close(flushTimeoutMs);
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
    // Writes after loss of the Lease are rejected before they are sent.
    const writing = client.scoped({ mayWrite: () => !this.#config.leaderElection || (this.#elector?.leading ?? false) });
    // Pending Events are written even after the Lease was released.
    const recorder = this.#recorder(client);
    const common = { config: this.#config, log: this.#log, metrics: this.#metrics };
    const { installation, leaseDuration: leaseMs, namespace, identity } = this.#config;
    const reference = await ownReplicaSet(client, namespace, identity);
    const owner = reference && { namespace, reference };
    const claims = new NamespaceClaims({ client: writing, installation, leaseMs, owner, log: this.#log });
    const { stores, rooms, clusters } = await assemble({
      ...common,
      ...(this.#tracer && { tracer: this.#tracer }),
      reading,
      writing,
      recorder,
      claims,
    });
    this.#stores = stores;
    const running = stores.run(signal);
    await stores.whenSynced(AbortSignal.any([signal, AbortSignal.timeout(syncTimeoutMs)]));
    const lead = async (lost: AbortSignal) => {
      this.#log.info('started leading');
      await Promise.all([rooms.run(lost), clusters.run(lost), claims.run(lost)]);
      await claims.end();
    };
    try {
      return await this.#lead(client, lead, reference);
    } finally {
      this.#ending.abort(new Error('the operator is shutting down'));
      await recorder.close();
      await running;
    }
  }

  async #lead(
    client: KubeClient,
    lead: (lost: AbortSignal) => Promise<void>,
    owner: OwnerReference | undefined,
  ): Promise<string | undefined> {
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
      // An owner must be in the same namespace.
      owner: place.namespace === namespace ? owner : undefined,
      identity,
      leaseMs: leaseDuration,
      // In the proportions of client-go: 15 s, 10 s, 2 s.
      renewMs: (leaseDuration * 2) / 3,
      retryMs: (leaseDuration * 2) / 15,
      log: this.#log,
      onChange: (leading) => this.#metrics.leading(place.name, leading),
    });
    this.#elector = elector;
    // A process that never led has a sample too, so that an alert can compare all of them.
    this.#metrics.leading(place.name, false);
    const why = await within(endTimeoutMs, signal, elector.run(signal, lead));
    return why === 'lost' ? 'the Lease was lost' : undefined;
  }

  /** The libraries are loaded only with a collector. */
  async #startTracing(): Promise<OtlpTracer | undefined> {
    const { traces, identity } = this.#config;
    if (traces.endpoint === undefined) return undefined;
    const { OtlpTracer } = await import('../tracing/otlp-tracer.ts');
    const tracer = new OtlpTracer({
      ...{ endpoint: traces.endpoint, samplePercent: traces.samplePercent, service: 'mediarooms-operator', instance: identity, version },
      failed: (error) => this.#log.warn({ err: error }, 'could not export spans'),
    });
    this.#metrics.spans(() => tracer.counters());
    return tracer;
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

/** Limits the time of the work after the signal aborted. */
async function within<T>(ms: number, signal: AbortSignal, work: Promise<T>): Promise<T> {
  const overdue = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => setTimeout(() => reject(new Error('running reconciles did not finish in time')), ms).unref(), {
      once: true,
    });
  });
  return await Promise.race([work, overdue]);
}
