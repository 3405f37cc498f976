// MediaCluster controller: composes its parts and maps changes of objects to the clusters to reconcile.
import { randomBytes as nodeRandomBytes } from 'node:crypto';
import { eachOf } from '../each-of.ts';
import type { KubeClient } from '../kube/client.ts';
import { Controller } from '../kube/controller.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import { type NamespaceClaims, whereClaimed } from '../kube/namespace-claims.ts';
import { type KubeObject, keyOf, type Stored } from '../kube/objects.ts';
import type { ControllerObserver, QueueObserver } from '../kube/observer.ts';
import { OwnerKeys } from '../kube/owner-keys.ts';
import { WorkQueue } from '../kube/work-queue.ts';
import type { Log } from '../log.ts';
import { Adoption } from './adoption.ts';
import { ClusterLookup } from './cluster-lookup.ts';
import type { ClusterStores } from './observed-objects.ts';
import { OwnedObjects } from './owned-objects.ts';
import { Fleet } from './pods/fleet.ts';
import { type Host, HostMonitor, hostChanged } from './pods/hosts.ts';
import { type NodeApiFactory, NodePoll } from './pods/node-poll.ts';
import { PodIndexes } from './pods/pod-indexes.ts';
import { PodOperations } from './pods/pod-operations.ts';
import { ClusterReconciler } from './reconcile.ts';
import { ClusterSecrets } from './secrets/cluster-secrets.ts';
import type { RandomBytes } from './secrets/generated-secrets.ts';
import { secretNames } from './secrets/secret-values.ts';
import { SharedResources } from './shared-resources.ts';

export type ClusterControllerOptions = {
  client: KubeClient;
  stores: ClusterStores;
  /** Creates a client of the REST API of a node; its requests should end within 2 s. */
  nodeCalls: NodeApiFactory;
  recorder: Pick<EventRecorder, 'emit'>;
  log: Log;
  metrics?: ControllerObserver & QueueObserver;
  claims?: Pick<NamespaceClaims, 'conflict' | 'retryMs'>;
  /** Default image of media nodes. */
  image: string;
  /** Default `cluster.local`. */
  clusterDomain?: string;
  workers?: number;
  /** Timeout of one reconcile in milliseconds. */
  timeoutMs?: number;
  /** Monotonic milliseconds. */
  now?: () => number;
  clock?: () => Date;
  randomBytes?: RandomBytes;
  tokenLifetimeMs?: number;
  pollPeriods?: { usual: number; quick: number };
};

export class ClusterController {
  /** MediaCluster lookups for the Room controller. */
  readonly access: ClusterLookup;
  readonly #queue: WorkQueue;
  readonly #controller: Controller;
  readonly #reconciler: ClusterReconciler;
  readonly #poll: NodePoll;
  readonly #stores: ClusterStores;
  readonly #owners = new OwnerKeys();

  constructor(options: ClusterControllerOptions) {
    const { client, stores, recorder, log, metrics } = options;
    const now = options.now ?? (() => performance.now());
    const clock = options.clock ?? (() => new Date());
    const hosts = new HostMonitor(stores.nodes, now, (host) => this.#lastResponseAt(host));
    this.#stores = stores;
    this.access = new ClusterLookup(stores, hosts);
    this.#queue = new WorkQueue({ name: 'mediacluster', ...(metrics ? { metrics } : {}) });
    this.#poll = new NodePoll({
      calls: options.nodeCalls,
      token: (key) => this.access.token(...split(key)),
      changed: (key) => this.#queue.add(key),
      now,
      ...(options.pollPeriods ? { periods: options.pollPeriods } : {}),
    });
    const objects = new OwnedObjects({ stores, now });
    const indexes = new PodIndexes({ stores, objects, now });
    const operations = new PodOperations({ stores, indexes, hosts, poll: this.#poll, recorder, log, now, clock });
    const fleet = new Fleet({ operations, poll: this.#poll, hosts, objects, now, clock });
    const sharedResources = new SharedResources({
      secrets: new ClusterSecrets({
        store: stores.secrets,
        random: options.randomBytes ?? nodeRandomBytes,
        now,
        clock,
        ...(options.tokenLifetimeMs === undefined ? {} : { tokenLifetimeMs: options.tokenLifetimeMs }),
      }),
      objects,
      indexes,
      recorder,
      image: options.image,
      clusterDomain: options.clusterDomain ?? 'cluster.local',
      stores,
    });
    this.#reconciler = new ClusterReconciler({
      client,
      stores,
      adoption: new Adoption({ stores, recorder }),
      sharedResources,
      fleet,
      operations,
      objects,
      now,
      clock,
    });
    this.#controller = new Controller({
      name: 'mediacluster',
      workers: options.workers ?? 8,
      timeoutMs: options.timeoutMs ?? 60_000,
      queue: this.#queue,
      reconcile: whereClaimed(
        options.claims,
        (key, signal) => this.#reconciler.reconcile(key, signal),
        (key, holder) => reportClaim(options, key, holder),
      ),
      client,
      log,
      ...(metrics ? { metrics } : {}),
    });
  }

  /** Time of the last response of a media node on that Kubernetes node, in monotonic milliseconds. */
  #lastResponseAt(host: string): number | undefined {
    const times = this.#stores.pods
      .list()
      .flatMap((pod) => (pod.spec?.nodeName === host ? (this.#poll.lastResponseAt(pod.metadata.uid) ?? []) : []));
    return times.length > 0 ? Math.max(...times) : undefined;
  }

  /** Must be called for each change of an object of the stores; `old` as the reflector passes it. */
  changed(object: Stored<KubeObject>, old?: Stored<KubeObject>): void {
    if (object.kind === 'MediaCluster') {
      this.#owners.add(object);
      // Status changes are our own writes.
      if (!old || old.metadata.generation !== object.metadata.generation || old.metadata.uid !== object.metadata.uid)
        this.#queue.add(keyOf(object), 'high');
      return;
    }
    if (object.kind === 'Node') {
      if (hostChanged(object as Host, old as Host | undefined)) this.#hostChanged(object.metadata.name);
      return;
    }
    this.#about(object);
  }

  deleted(object: Stored<KubeObject>): void {
    if (object.kind === 'MediaCluster') {
      this.#queue.add(keyOf(object), 'high');
      this.#owners.delete(object);
    } else if (object.kind === 'Node') this.#hostChanged(object.metadata.name);
    else this.#about(object);
  }

  /** Enqueues all clusters after a change that affects all of them. */
  enqueueAll(): void {
    for (const cluster of this.#stores.mediaClusters.list()) this.#queue.add(keyOf(cluster));
  }

  /** Runs until the signal aborts; the stores must be synced. */
  async run(signal: AbortSignal): Promise<void> {
    for (const cluster of this.#stores.mediaClusters.list()) this.#owners.add(cluster);
    this.enqueueAll();
    await this.#controller.run(signal).finally(() => this.#close());
  }

  /** Reconciles every cluster once, instead of `run`; the stores must be synced. @returns errors by key */
  async once(signal: AbortSignal): Promise<Map<string, unknown>> {
    const failures = new Map<string, unknown>();
    const keys = this.#stores.mediaClusters.list().map(keyOf);
    const reconcile = (key: string) => this.#reconciler.once(key, signal).catch((error: unknown) => failures.set(key, error));
    await eachOf(keys, 1, reconcile).finally(() => this.#close());
    return failures;
  }

  #close(): void {
    this.#queue.close();
    this.#poll.close();
  }

  #about(object: Stored<KubeObject>): void {
    const owner = this.#owners.keyOfOwner(object);
    if (owner !== undefined) this.#queue.add(owner);
    if (object.kind !== 'Secret') return;
    const { namespace, name } = object.metadata;
    for (const cluster of this.#stores.mediaClusters.list())
      if (cluster.metadata.namespace === namespace && secretNames(cluster).includes(name)) this.#queue.add(keyOf(cluster));
  }

  #hostChanged(host: string): void {
    for (const pod of this.#stores.pods.list()) {
      const owner = pod.spec?.nodeName === host ? this.#owners.keyOfOwner(pod) : undefined;
      if (owner !== undefined) this.#queue.add(owner, 'high');
    }
  }
}

/** The status belongs to the other operator, so that this one reports in Events. */
function reportClaim({ stores, recorder }: ClusterControllerOptions, key: string, holder: string): void {
  const cluster = stores.mediaClusters.get(key);
  if (!cluster) return;
  const note = `Operator "${holder}" manages this namespace, so this operator changes nothing in it.`;
  recorder.emit(cluster, 'Warning', 'NamespaceClaimed', 'Reconcile', note);
}

function split(key: string): [namespace: string, name: string] {
  const [namespace = '', name = ''] = key.split('/');
  return [namespace, name];
}
