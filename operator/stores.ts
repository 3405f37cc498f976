// Stores: the reflector caches of all objects that the operator reads.
import { type ClusterStores, type ObservedSecret, type OptionalKind, optionalKinds } from './clusters/observed-objects.ts';
import { type Host, slimHost } from './clusters/pods/hosts.ts';
import type { KubeClient } from './kube/client.ts';
import { sleep } from './kube/http/deadline.ts';
import { type KubeObject, type Resource, resources, type Stored, withoutAppliedCopy } from './kube/objects.ts';
import { Reflector, type ReflectorOptions } from './kube/reflector.ts';
import { SecretStore } from './kube/secret-store.ts';
import type { Log } from './log.ts';
import type { OperatorMetrics } from './metrics/operator-metrics.ts';
import type { MediaCluster, Room } from './objects.ts';
import type { Secret } from './rooms/desired-components.ts';
import { roomIndexes } from './rooms/room-conflicts.ts';

export type StoresOptions = {
  client: KubeClient;
  /** Empty: all. */
  namespaces: readonly string[];
  /** Whether Nodes may be read. */
  nodes: boolean;
  /** Those that the API server supports. */
  optionalKinds: ReadonlySet<OptionalKind>;
  log: Log;
  metrics: OperatorMetrics;
  changed: (object: Stored<KubeObject>, old?: Stored<KubeObject>) => void;
  deleted: (object: Stored<KubeObject>) => void;
  /** Default of the reflector. */
  deadAfterMs?: number;
  /** Called when the API server starts to support a kind and its cache is synced. */
  appeared: () => void;
};

type Kept = { name: string; namespaced: boolean; reflector: Reflector<KubeObject> };
type Narrowed<T extends KubeObject> = Pick<
  ReflectorOptions<T>,
  'labelSelector' | 'fieldSelector' | 'metadataOnly' | 'slim' | 'resyncMs' | 'indexes'
>;

/** Interval of resyncs, which catch lost changes. */
const resyncMs = 10 * 60_000;
/** A watch without messages for this time, bookmarks included, can only be fixed by a restart of the process. */
const maxSilenceMs = 10 * 60_000;
/** Interval in which missing lists are checked for lost namespaces. */
const lookForLostMs = 1_000;
/** Retry interval for kinds that the API server does not support. */
const lookForKindMs = 15_000;
/** Content of Secrets in memory: that of MediaClusters is needed for each request to a node. */
const maxSecretBytes = { rooms: 8 * 2 ** 20, clusters: 64 * 2 ** 20 };
const managed = { labelSelector: 'app.kubernetes.io/managed-by=mediarooms-operator' };

export class Stores {
  readonly clusters: ClusterStores;
  readonly rooms: Reflector<Room>;
  /** Secrets that Rooms use, apart from those of MediaClusters, whose content always stays in memory. */
  readonly roomSecrets: SecretStore<Secret>;
  readonly #all: Kept[] = [];
  readonly #options: StoresOptions;

  constructor(options: StoresOptions) {
    this.#options = options;
    const { client } = options;
    const slim = withoutAppliedCopy;
    this.rooms = this.#keep<Room>(resources.rooms, { resyncMs, indexes: roomIndexes, slim });
    // Secrets of Helm releases are large and not needed.
    const secrets = this.#keep<ObservedSecret & Secret>(resources.secrets, {
      fieldSelector: 'type!=helm.sh/release.v1',
      metadataOnly: true,
      slim: metadataOf,
    });
    this.roomSecrets = new SecretStore<Secret>({ metadata: secrets, client, maxBytes: maxSecretBytes.rooms });
    this.clusters = {
      mediaClusters: this.#keep<MediaCluster>(resources.mediaClusters, { resyncMs, slim }),
      pods: this.#keep(resources.pods, managed),
      secrets: new SecretStore<ObservedSecret>({ metadata: secrets, client, maxBytes: maxSecretBytes.clusters }),
      services: this.#keep(resources.services, managed),
      configMaps: this.#keep(resources.configMaps, managed),
      serviceAccounts: this.#keep(resources.serviceAccounts, managed),
      persistentVolumeClaims: this.#keep(resources.persistentVolumeClaims, managed),
      podDisruptionBudgets: this.#keep(resources.podDisruptionBudgets, managed),
      networkPolicies: this.#keep(resources.networkPolicies, managed),
      ingresses: this.#keep(resources.ingresses, managed),
      ...this.#keepOptional(options.optionalKinds),
      nodes: options.nodes ? this.#keep<Host>(resources.nodes, { slim: slimHost }) : undefined,
    };
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const late = optionalKinds.filter((kind) => this.clusters[kind] === undefined);
    await Promise.all([...this.#all.map(({ reflector }) => reflector.run(signal)), ...late.map((kind) => this.#runLate(kind, signal))]);
  }

  /** Resolves after all lists, except those of lost namespaces. @throws the reason of the signal */
  async whenSynced(signal: AbortSignal): Promise<void> {
    await this.#untilListed(this.#all, signal);
  }

  /** Kinds that are not listed yet, as a message. */
  unsynced(): string | undefined {
    const missing = this.#unlisted(this.#all).map(({ name }) => name);
    return missing.length === 0 ? undefined : `not listed yet: ${missing.join(', ')}`;
  }

  /** Kinds whose watches have stalled or are rejected permanently, as a message. A lost namespace is no reason to restart. */
  stalled(): string | undefined {
    const lost = this.#lostNamespaces();
    const rejected = this.#all.flatMap(({ name, reflector }) => {
      const [first] = reflector.dead.filter(({ namespace }) => !lost.has(namespace));
      return first ? [`${name} cannot be watched: ${first.message}`] : [];
    });
    if (rejected.length > 0) return rejected.join('; ');
    const silent = this.#all.filter(({ reflector }) => reflector.silence > maxSilenceMs).map(({ name }) => name);
    return silent.length === 0 ? undefined : `no message for ${maxSilenceMs / 60_000} minutes about ${silent.join(', ')}`;
  }

  /**
   * Namespaces in which no kind may be read any more, as after their deletion: their Roles were deleted with them. None if all namespaces
   * are lost.
   */
  #lostNamespaces(): ReadonlySet<string | undefined> {
    const { namespaces } = this.#options;
    const forbidden = this.#all
      .filter(({ namespaced }) => namespaced)
      .map(({ reflector }) => new Set(reflector.dead.filter((scope) => scope.forbidden).map(({ namespace }) => namespace)));
    const lost = namespaces.filter((namespace) => forbidden.every((each) => each.has(namespace)));
    return new Set(lost.length < namespaces.length ? lost : []);
  }

  /** Those with a namespace that was neither listed nor lost. */
  #unlisted(kept: readonly Kept[]): Kept[] {
    const lost = this.#lostNamespaces();
    return kept.filter(({ reflector }) => [...reflector.unlisted].some((namespace) => !lost.has(namespace)));
  }

  async #untilListed(kept: readonly Kept[], signal: AbortSignal): Promise<void> {
    const all = Promise.all(kept.map(({ reflector }) => reflector.whenSynced(signal))).then(() => true);
    // The signal may abort after lost namespaces ended the wait.
    all.catch(() => {});
    while (!(await Promise.race([all, sleep(lookForLostMs, signal).then(() => false)]))) {
      if (signal.aborted || this.#unlisted(kept).length > 0) continue;
      this.#options.log.warn({ namespaces: [...this.#lostNamespaces()] }, 'no access to namespaces, continuing without them');
      return;
    }
  }

  /** Starts the cache of a kind when the API server supports it. */
  async #runLate(kind: OptionalKind, signal: AbortSignal): Promise<void> {
    const { client, log, appeared } = this.#options;
    const resource = resources[kind];
    do {
      if (!(await sleep(lookForKindMs, signal))) return;
      // Retries while discovery fails.
    } while (!(await client.serves(resource).catch(() => false)));
    const reflector = this.#reflect<KubeObject>(resource, managed);
    const running = reflector.run(signal);
    const kept = { name: resource.plural, namespaced: resource.namespaced, reflector };
    const synced = await this.#untilListed([kept], signal).then(
      () => true,
      () => false,
    );
    if (synced) {
      this.clusters[kind] = reflector;
      this.#all.push(kept);
      log.info({ resource: resource.plural }, 'kind is now available');
      appeared();
    }
    await running;
  }

  #keepOptional(supported: ReadonlySet<OptionalKind>) {
    const keep = (kind: OptionalKind) => (supported.has(kind) ? this.#keep<KubeObject>(resources[kind], managed) : undefined);
    return {
      serviceMonitors: keep('serviceMonitors'),
      httpRoutes: keep('httpRoutes'),
      tlsRoutes: keep('tlsRoutes'),
      ingressRouteTcps: keep('ingressRouteTcps'),
    };
  }

  #keep<T extends KubeObject>(resource: Resource, narrowed: Narrowed<T>): Reflector<T> {
    const reflector = this.#reflect(resource, narrowed);
    const { plural: name, namespaced } = resource;
    this.#all.push({ name, namespaced, reflector: reflector as unknown as Reflector<KubeObject> });
    return reflector;
  }

  #reflect<T extends KubeObject>(resource: Resource, narrowed: Narrowed<T>): Reflector<T> {
    const { client, namespaces, log, metrics, changed, deleted, deadAfterMs } = this.#options;
    return new Reflector<T>({
      client,
      resource,
      namespaces,
      log,
      metrics,
      onChange: changed,
      onDelete: deleted,
      ...(deadAfterMs !== undefined && { deadAfterMs }),
      ...narrowed,
    });
  }
}

/** An API server or proxy that cannot return metadata alone returns the object. */
function metadataOf<T extends KubeObject>(secret: Stored<T>): Stored<T> {
  const { apiVersion, kind, metadata } = withoutAppliedCopy(secret);
  return { apiVersion, kind, metadata } as Stored<T>;
}
