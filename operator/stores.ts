// Stores: the reflector caches of all objects that the operator reads.
import type { ClusterStores } from './clusters/observed-objects.ts';
import type { KubeClient } from './kube/client.ts';
import { sleep } from './kube/http/deadline.ts';
import { type KubeObject, type Resource, resources, type Stored } from './kube/objects.ts';
import { Reflector, type ReflectorOptions } from './kube/reflector.ts';
import type { Log } from './log.ts';
import type { OperatorMetrics } from './metrics/operator-metrics.ts';
import type { MediaCluster, Room } from './objects.ts';
import { roomIndexes } from './rooms/room-conflicts.ts';

export type StoresOptions = {
  client: KubeClient;
  /** Empty: all. */
  namespaces: readonly string[];
  /** Whether Nodes may be read, and whether the API server supports ServiceMonitors and HTTPRoutes. */
  nodes: boolean;
  serviceMonitors: boolean;
  httpRoutes: boolean;
  log: Log;
  metrics: OperatorMetrics;
  changed: (object: Stored<KubeObject>, old?: Stored<KubeObject>) => void;
  deleted: (object: Stored<KubeObject>) => void;
  /** Called when the API server starts to support a kind and its cache is synced. */
  appeared: () => void;
};

type Narrowed<T extends KubeObject> = Pick<ReflectorOptions<T>, 'labelSelector' | 'fieldSelector' | 'resyncMs' | 'indexes'>;
/** Kinds of other projects, which may be installed after the operator. */
const lateKinds = ['serviceMonitors', 'httpRoutes'] as const;

/** Interval of resyncs, which catch lost changes. */
const resyncMs = 10 * 60_000;
/** A watch without messages for this time, bookmarks included, can only be fixed by a restart of the process. */
const maxSilenceMs = 10 * 60_000;
/** Retry interval for kinds that the API server does not support. */
const lookForKindMs = 15_000;
const managed = { labelSelector: 'app.kubernetes.io/managed-by=mediarooms-operator' };

export class Stores {
  readonly clusters: ClusterStores;
  readonly rooms: Reflector<Room>;
  readonly #all: { name: string; reflector: Reflector<KubeObject> }[] = [];
  readonly #options: StoresOptions;

  constructor(options: StoresOptions) {
    this.#options = options;
    this.rooms = this.#keep<Room>(resources.rooms, { resyncMs, indexes: roomIndexes });
    this.clusters = {
      mediaClusters: this.#keep<MediaCluster>(resources.mediaClusters, { resyncMs }),
      pods: this.#keep(resources.pods, managed),
      // Secrets of Helm releases are large and not needed.
      secrets: this.#keep(resources.secrets, { fieldSelector: 'type!=helm.sh/release.v1' }),
      services: this.#keep(resources.services, managed),
      configMaps: this.#keep(resources.configMaps, managed),
      serviceAccounts: this.#keep(resources.serviceAccounts, managed),
      persistentVolumeClaims: this.#keep(resources.persistentVolumeClaims, managed),
      podDisruptionBudgets: this.#keep(resources.podDisruptionBudgets, managed),
      networkPolicies: this.#keep(resources.networkPolicies, managed),
      ingresses: this.#keep(resources.ingresses, managed),
      httpRoutes: options.httpRoutes ? this.#keep(resources.httpRoutes, managed) : undefined,
      serviceMonitors: options.serviceMonitors ? this.#keep(resources.serviceMonitors, managed) : undefined,
      nodes: options.nodes ? this.#keep(resources.nodes, {}) : undefined,
    };
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const late = lateKinds.filter((kind) => this.clusters[kind] === undefined);
    await Promise.all([...this.#all.map(({ reflector }) => reflector.run(signal)), ...late.map((kind) => this.#runLate(kind, signal))]);
  }

  /** Resolves after all lists. @throws the reason of the signal */
  async whenSynced(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all.map(({ reflector }) => reflector.whenSynced(signal)));
  }

  /** Kinds that are not listed yet, as a message. */
  unsynced(): string | undefined {
    const missing = this.#all.filter(({ reflector }) => !reflector.synced).map(({ name }) => name);
    return missing.length === 0 ? undefined : `not listed yet: ${missing.join(', ')}`;
  }

  /** Kinds whose watches have stalled, as a message. */
  stalled(): string | undefined {
    const silent = this.#all.filter(({ reflector }) => reflector.silence > maxSilenceMs).map(({ name }) => name);
    return silent.length === 0 ? undefined : `no message for ${maxSilenceMs / 60_000} minutes about ${silent.join(', ')}`;
  }

  /** Starts the cache of a kind when the API server supports it. */
  async #runLate(kind: (typeof lateKinds)[number], signal: AbortSignal): Promise<void> {
    const { client, log, appeared } = this.#options;
    const resource = resources[kind];
    do {
      if (!(await sleep(lookForKindMs, signal))) return;
      // Retries while discovery fails.
    } while (!(await client.serves(resource).catch(() => false)));
    const reflector = this.#reflect<KubeObject>(resource, managed);
    const running = reflector.run(signal);
    const synced = await reflector.whenSynced(signal).then(
      () => true,
      () => false,
    );
    if (synced) {
      this.clusters[kind] = reflector;
      this.#all.push({ name: resource.plural, reflector });
      log.info({ resource: resource.plural }, 'kind is now available');
      appeared();
    }
    await running;
  }

  #keep<T extends KubeObject>(resource: Resource, narrowed: Narrowed<T>): Reflector<T> {
    const reflector = this.#reflect(resource, narrowed);
    this.#all.push({ name: resource.plural, reflector: reflector as unknown as Reflector<KubeObject> });
    return reflector;
  }

  #reflect<T extends KubeObject>(resource: Resource, narrowed: Narrowed<T>): Reflector<T> {
    const { client, namespaces, log, metrics, changed, deleted } = this.#options;
    return new Reflector<T>({
      client,
      resource,
      namespaces,
      log,
      metrics,
      onChange: changed,
      onDelete: deleted,
      ...narrowed,
    });
  }
}
