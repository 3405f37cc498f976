// Room controller: creates rooms on nodes for Rooms and keeps them as declared.
import { eachOf } from '../each-of.ts';
import { Controller } from '../kube/controller.ts';
import { type NamespaceClaims, whereClaimed } from '../kube/namespace-claims.ts';
import { controllerOwner, keyOf, type Stored } from '../kube/objects.ts';
import type { ControllerObserver, QueueObserver } from '../kube/observer.ts';
import { WorkQueue } from '../kube/work-queue.ts';
import { NodeClient } from '../nodes/node-client.ts';
import type { NodeEvent, NodeRoom } from '../nodes/schemas.ts';
import type { MediaCluster, Room } from '../objects.ts';
import { type ConnectNode, contentDigest } from './cluster-client.ts';
import { ClusterClients, clusterCacheKey } from './cluster-clients.ts';
import { roomIdOf } from './desired.ts';
import type { Secret } from './desired-components.ts';
import { countsIntervalMs } from './reconcile-placed.ts';
import type { RoomCache } from './room-cache.ts';
import { type RoomDeps, RoomReconciler, roomFinalizer } from './room-reconciler.ts';

export type RoomControllerOptions = RoomDeps & {
  metrics?: QueueObserver & ControllerObserver;
  workers?: number;
  random?: () => number;
  /** Interval of full lists of the rooms of a cluster, in addition to events. */
  pollMs?: number;
  /** Creates the client of a node. */
  connect?: ConnectNode;
  claims?: Pick<NamespaceClaims, 'conflict' | 'retryMs'>;
};

const defaultWorkers = 16;
const timeoutMs = 60_000;
/** A burst of events of one room causes one reconcile. */
const burstMs = 100;
const maxBackOffMs = 60_000;

export class RoomController {
  readonly #options: RoomControllerOptions;
  readonly #queue: WorkQueue;
  readonly #controller: Controller;
  readonly #clusterClients: ClusterClients;
  readonly #work: RoomReconciler;
  readonly #memories = new Map<string, RoomCache>();

  constructor(options: RoomControllerOptions) {
    this.#options = options;
    const { access, log, metrics, random = Math.random, pollMs, connect = (node) => new NodeClient(node) } = options;
    this.#clusterClients = new ClusterClients({
      access,
      log,
      random,
      pollMs,
      connect,
      onEvent: (namespace, event) => this.#onEvent(namespace, event),
      onListing: (namespace, cluster, rooms) => this.#onListing(namespace, cluster, rooms),
    });
    this.#work = new RoomReconciler({ ...options, links: this.#clusterClients, memories: this.#memories });
    this.#queue = new WorkQueue({ name: 'room', capMs: maxBackOffMs, random, ...(metrics && { metrics }) });
    this.#controller = new Controller({
      name: 'room',
      workers: options.workers ?? defaultWorkers,
      timeoutMs,
      queue: this.#queue,
      reconcile: whereClaimed(options.claims, (key, signal) => this.#work.reconcile(key, signal)),
      client: options.client,
      log,
      ...(metrics && { metrics }),
    });
  }

  /** Runs until the signal aborts and every worker has ended. Can be called once. */
  async run(signal: AbortSignal): Promise<void> {
    this.#work.startLeading();
    await this.#controller.run(signal).finally(() => this.#close());
  }

  /** Reconciles every Room once, with limited concurrency, instead of `run`. @returns errors by key */
  async once(signal: AbortSignal): Promise<Map<string, unknown>> {
    const failures = new Map<string, unknown>();
    const keys = this.#options.rooms.list().map(keyOf);
    const reconcile = (key: string) => this.#work.reconcile(key, signal).catch((error: unknown) => failures.set(key, error));
    await eachOf(keys, this.#options.workers ?? defaultWorkers, reconcile).finally(() => this.#close());
    return failures;
  }

  async #close(): Promise<void> {
    this.#queue.close();
    await this.#clusterClients.close();
  }

  roomChanged(room: Stored<Room>, old?: Stored<Room>): void {
    this.#memories.get(keyOf(room))?.reflected(room);
    if (old && old.status?.phase !== room.status?.phase) this.#addSiblings(room);
    if (old && onlyOwnWrites(room, old)) return;
    this.#queue.add(keyOf(room), room.metadata.deletionTimestamp === undefined ? 'normal' : 'high');
  }

  roomDeleted(room: Stored<Room>): void {
    this.#queue.add(keyOf(room));
    this.#addSiblings(room);
  }

  secretChanged(secret: Stored<Secret>): void {
    const { namespace, name, resourceVersion } = secret.metadata;
    const key = roomKeyOf(secret);
    if (key !== undefined) {
      const written = this.#memories.get(key)?.secret;
      if (written?.resourceVersion === resourceVersion) written.reflected(resourceVersion);
      else this.#queue.add(key);
      return;
    }
    for (const room of this.#options.rooms.where('secret', `${namespace}/${name}`)) this.#queue.add(keyOf(room));
  }

  secretDeleted(secret: Stored<Secret>): void {
    // The Secret may have been deleted before a reconcile saw it, so the pending write must be dropped here.
    const key = roomKeyOf(secret);
    if (key !== undefined) this.#memories.get(key)?.secret.deleted(secret.metadata.uid);
    this.secretChanged(secret);
  }

  /** A MediaCluster was added, changed or deleted. */
  clusterChanged(cluster: Stored<MediaCluster>, old?: Stored<MediaCluster>): void {
    if (old && clusterCacheKey(old) === clusterCacheKey(cluster)) return;
    const { namespace, name } = cluster.metadata;
    for (const room of this.#roomsOf(namespace)) {
      // Rooms without clusterRef may now have another MediaCluster, or an ambiguous choice.
      if ((room.spec?.clusterRef?.name ?? name) === name) this.#queue.add(keyOf(room));
    }
  }

  /** Pods of a MediaCluster were added, removed or became ready: enqueues Rooms that wait or lost their node. */
  nodesChanged(namespace: string, cluster: string): void {
    const nodes = this.#options.access.nodes(namespace, cluster);
    // A pod that is not ready may be on a lost Kubernetes node: its Rooms probe it, and other nodes if it does not respond.
    const living = new Set(nodes.filter(({ lost, ready }) => !lost && ready).map(({ pod }) => pod));
    for (const room of this.#roomsOf(namespace)) {
      const { phase, node, cluster: on } = room.status ?? {};
      const waits = phase !== 'Ready' && phase !== 'Finished' && phase !== 'Failed';
      const lost = on === cluster && phase === 'Ready' && node !== undefined && !node.includes('@') && !living.has(node);
      if (lost) this.#queue.add(keyOf(room), 'high');
      else if (waits && (on === undefined || on === cluster)) this.#queue.add(keyOf(room));
    }
  }

  #roomsOf(namespace: string | undefined): Stored<Room>[] {
    return this.#options.rooms.where('namespace', namespace ?? '');
  }

  /** Other Rooms with the same id may be able to use it now. */
  #addSiblings(room: Stored<Room>): void {
    for (const other of this.#withId(room.metadata.namespace, roomIdOf(room))) {
      if (other.metadata.uid !== room.metadata.uid) this.#queue.add(keyOf(other));
    }
  }

  #withId(namespace: string | undefined, roomId: string): Stored<Room>[] {
    return this.#options.rooms.where('roomId', `${namespace}/${roomId}`);
  }

  #onEvent(namespace: string, { type, roomId, peerId }: NodeEvent): void {
    for (const room of this.#withId(namespace, roomId)) {
      const key = keyOf(room);
      if (type.startsWith('Room')) this.#queue.add(key, 'high');
      else if (type.startsWith('Component')) this.#queue.addAfter(key, burstMs);
      else {
        const declared = Array.isArray(room.spec?.peers) && room.spec.peers.some(({ name }) => name === peerId);
        const ended = type === 'PeerDeleted' || type === 'PeerCrashed';
        const age = performance.now() - (this.#memories.get(key)?.countsAt ?? Number.NEGATIVE_INFINITY);
        this.#queue.addAfter(
          key,
          ended && (declared || room.status?.phase !== 'Ready') ? burstMs : Math.max(burstMs, countsIntervalMs - age),
        );
      }
    }
  }

  #onListing(namespace: string, cluster: string, listing: readonly NodeRoom[]): void {
    const found = new Map(listing.map((room) => [room.externalId, room]));
    for (const room of this.#roomsOf(namespace)) {
      const { phase, incarnation, cluster: on } = room.status ?? {};
      if (on !== cluster || incarnation === undefined || phase === 'Finished' || phase === 'Failed') continue;
      const there = found.get(room.metadata.uid);
      const seen = this.#memories.get(keyOf(room))?.digest;
      if (!there || seen !== contentDigest(there)) this.#queue.add(keyOf(room));
    }
    this.#work.deleteOrphans(namespace, cluster, found);
  }
}

/** Key of the Room that controls a Secret. */
function roomKeyOf(secret: Stored<Secret>): string | undefined {
  const owner = controllerOwner(secret);
  return owner?.kind === 'Room' ? `${secret.metadata.namespace}/${owner.name}` : undefined;
}

/** Whether only the controller's own writes changed: the status and the finalizer. */
function onlyOwnWrites(room: Stored<Room>, old: Stored<Room>): boolean {
  const [now, before] = [room.metadata, old.metadata];
  if (now.resourceVersion === before.resourceVersion || now.uid !== before.uid) return false;
  const others = (finalizers: string[] | undefined) => (finalizers ?? []).filter((name) => name !== roomFinalizer).join();
  const kept = now.finalizers?.includes(roomFinalizer) === true || !before.finalizers?.includes(roomFinalizer);
  return (
    now.generation === before.generation &&
    now.deletionTimestamp === before.deletionTimestamp &&
    kept &&
    others(now.finalizers) === others(before.finalizers)
  );
}
