// Reconciler of one Room: observes, decides and acts until no action is left.
import { roomStatusSchema } from '../../crds/room.ts';
import type { RoomStatus } from '../../crds/types.ts';
import { type Tracer, traced } from '../../tracing/spans.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Reconciled } from '../kube/controller.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import { hasFinalizer, setFinalizer } from '../kube/finalizers.ts';
import { conflict, isConflict, isNotFound } from '../kube/http/kube-error.ts';
import { keyOf, resources, type Stored } from '../kube/objects.ts';
import type { Reflector } from '../kube/reflector.ts';
import type { SecretStore } from '../kube/secret-store.ts';
import { applyStatus } from '../kube/status-writer.ts';
import type { Log } from '../log.ts';
import type { NodeClient } from '../nodes/node-client.ts';
import { isUnavailable, NodeError } from '../nodes/node-error.ts';
import { traceOfRoom, withTraceparent } from '../nodes/request-trace.ts';
import type { NodeRoom } from '../nodes/schemas.ts';
import type { MediaCluster, Room } from '../objects.ts';
import { type ActContext, act, type NodeAction, relocateRoom } from './act.ts';
import { BoundedMap } from './bounded-map.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { contentDigest } from './cluster-client.ts';
import { type ClusterClients, clusterCacheKey } from './cluster-clients.ts';
import { defaultsOf, readSpec, roomIdOf } from './desired.ts';
import { desiredComponents, type Secret, type SecretAccess, SecretDigests } from './desired-components.ts';
import type { Action, Observed } from './observed.ts';
import { peerSecretName, readPeerSecret } from './peer-secret.ts';
import { isTerminal, reconcile } from './reconcile.ts';
import { createPendingMs, newerVersion, peersCacheKey, RoomCache } from './room-cache.ts';
import { conflictingRoom, secretsOfRoom } from './room-conflicts.ts';
import { deletePeerSecret, writePeerSecret } from './secret-writer.ts';
import { transitions } from './transitions.ts';

export const roomFinalizer = 'mediarooms.dev/room';

/** More than any Room needs. A Room that is not settled after this many steps is requeued with backoff. */
const maxSteps = 25;
const conflictMs = 50;
const maxReleased = 10_000;

/** Collaborators of the reconciler. */
export type RoomDeps = {
  client: Pick<KubeClient, 'find' | 'create' | 'apply' | 'patch' | 'delete' | 'onReachable'>;
  /** With `roomIndexes`; its changes are passed to `roomChanged` and `roomDeleted` of the controller. */
  rooms: Pick<Reflector<Room>, 'get' | 'list' | 'where'>;
  /** Of the same namespaces; changes are passed to `secretChanged` and `secretDeleted`. */
  secrets: Pick<SecretStore<Secret>, 'read' | 'written'>;
  access: ClusterAccess;
  recorder: Pick<EventRecorder, 'emit'>;
  log: Log;
  tracer?: Tracer;
  /** Share of changes of Rooms that are traced. */
  samplePercent?: number;
  /** Wall clock in milliseconds since 1970. */
  now?: () => number;
};
export type RoomReconcilerOptions = RoomDeps & { links: ClusterClients; memories: Map<string, RoomCache> };

/** One reconcile of a Room, from the first observation to the last action. */
type Pass = {
  observed: Observed;
  readonly memory: RoomCache;
  peersSecret: Stored<Secret> | undefined;
  /** Without a MediaCluster there is none. */
  readonly context: ActContext | undefined;
  /** Cache key of rejections: they are retried when it changes. */
  readonly stamp: string;
};

export class RoomReconciler {
  readonly #options: RoomReconcilerOptions;
  /** Requests of the previous leader have taken effect by then, in monotonic milliseconds. */
  #createPendingUntil = Number.NEGATIVE_INFINITY;
  readonly #digests = new SecretDigests();
  /**
   * Ids of the rooms of deleted Rooms, by externalId. Such a room may be on a node that could not be reached, and a node without CPU time may
   * execute a create request late.
   */
  readonly #released = new BoundedMap<string, string>(maxReleased);

  constructor(options: RoomReconcilerOptions) {
    this.#options = options;
  }

  /** Another operator may have led until now, and its last requests may still take effect. */
  startLeading(): void {
    this.#createPendingUntil = performance.now() + createPendingMs;
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Reconciled> {
    const { rooms, memories } = this.#options;
    const cached = rooms.get(key);
    if (!cached) {
      memories.delete(key);
      return undefined;
    }
    const memory = this.#memoryOf(key, cached);
    try {
      const pass = await this.#observe(newerVersion(cached, memory.room) ?? cached, memory, signal);
      const reconciled = await this.#settle(pass);
      // The watch may have been faster than the response to the last write.
      memory.reflected(rooms.get(key));
      return reconciled;
    } catch (error) {
      // Changed concurrently; the other write will arrive by the watch.
      if (isConflict(error)) return { requeueAfterMs: conflictMs };
      if (isNotFound(error) && !rooms.get(key)) return undefined;
      throw error;
    }
  }

  /** Deletes rooms that appear although their Rooms were deleted. */
  deleteOrphans(namespace: string, cluster: string, found: ReadonlyMap<string | null, NodeRoom>): void {
    for (const [uid, roomId] of this.#released.map) {
      if (!found.has(uid)) continue;
      const [first] = this.#options.links.get(namespace, cluster)?.candidates() ?? [];
      if (first)
        deleteOrphan(first.client, uid, roomId).catch((error: unknown) =>
          this.#options.log.info({ err: error, roomId }, 'could not delete orphaned room'),
        );
    }
  }

  #memoryOf(key: string, { metadata }: Stored<Room>): RoomCache {
    const { memories } = this.#options;
    const known = memories.get(key);
    if (known?.uid === metadata.uid) return known;
    const memory = new RoomCache(metadata.uid, this.#createPendingUntil);
    memories.set(key, memory);
    return memory;
  }

  async #observe(room: Stored<Room>, memory: RoomCache, signal: AbortSignal): Promise<Pass> {
    const { links, secrets, access } = this.#options;
    const { namespace = '', uid, deletionTimestamp } = room.metadata;
    const parsed = roomStatusSchema.safeParse(room.status ?? {});
    const status: RoomStatus = parsed.success ? parsed.data : {};
    const spec = readSpec(room);
    const found = this.#findCluster(room, status);
    const cluster = 'cluster' in found ? found.cluster : undefined;
    const contents = await secrets.read(namespace, secretsOfRoom(room));
    const secretOf = (name: string) => contents.get(name);
    if (cluster) await access.prepare(namespace, cluster.metadata.name);
    const secretAccess: SecretAccess = { secretOf, usable: cluster?.spec.roomSecrets, digests: this.#digests };
    const monotonic = performance.now();
    const stamp = cluster ? `${status.incarnation}|${room.metadata.generation}|${clusterCacheKey(cluster)}` : '';
    if (deletionTimestamp !== undefined) memory.deletingSince ??= monotonic;
    const peersSecret = memory.secret.current(secretOf(peerSecretName(room.metadata)), monotonic);
    const link = cluster && links.open(namespace, cluster.metadata.name);
    const observed: Observed = {
      room,
      roomId: roomIdOf(room),
      spec,
      status,
      finalized: hasFinalizer(room, roomFinalizer),
      cluster: 'cluster' in found ? this.#clusterOf(found.cluster) : found,
      conflictsWith: cluster && this.#conflictIn(room, cluster),
      location: { kind: 'absent' },
      desiredComponents: 'spec' in spec ? await desiredComponents(spec.spec, uid, secretAccess) : [],
      componentEnds: link?.componentEnds ?? new Map(),
      componentCrashes: memory.componentCrashes,
      refusedComponents: memory.components.current(stamp, monotonic),
      refusedPeers: new Map(),
      refusedConfig: memory.config.current(stamp, monotonic).get('config'),
      secret: readPeerSecret(peersSecret, room),
      newTokens: new Map(),
      now: this.#now(),
      skewMs: memory.skewMs,
      countsAgeMs: monotonic - memory.countsAt,
      waitingForMs: 0,
      deletingForMs: monotonic - (memory.deletingSince ?? monotonic),
      createPendingMs: memory.createPendingUntil - monotonic,
    };
    if (!link || !cluster) return { observed, memory, peersSecret, context: undefined, stamp };
    const context = { link, cluster: cluster.metadata.name, signal, now: () => performance.now() };
    const location = asksNodes(observed) ? await relocateRoom(context, observed) : observed.location;
    const refusedPeers = memory.peers.current(peersCacheKey(stamp, location), monotonic);
    return { observed: { ...observed, location, refusedPeers }, memory, peersSecret, context, stamp };
  }

  async #settle(pass: Pass): Promise<Reconciled> {
    for (let step = 0; step < maxSteps; step += 1) {
      pass.observed = this.#withTimes(pass);
      const { status, action } = reconcile(pass.observed);
      if (action.type === 'removeFinalizer') {
        await this.#release(pass, action.orphan);
        return undefined;
      }
      if (action.type === 'deleteRoom') {
        await this.#delete(pass.observed.room);
        return undefined;
      }
      if (action.type === 'wait') {
        const { location } = await this.#writeStatus(pass, status);
        pass.memory.digest = location.kind === 'present' ? contentDigest(location.room) : undefined;
        return action.requeueAfterMs === undefined ? undefined : { requeueAfterMs: action.requeueAfterMs };
      }
      pass.observed = await this.#perform(pass, status, action);
    }
    throw new Error(`Room ${keyOf(pass.observed.room)} was not settled in ${maxSteps} steps`);
  }

  #perform(
    pass: Pass,
    status: RoomStatus,
    action: Exclude<Action, { type: 'wait' | 'removeFinalizer' | 'deleteRoom' }>,
  ): Promise<Observed> {
    switch (action.type) {
      case 'writeStatus':
        return this.#writeStatus(pass, status);
      case 'finalize':
        return this.#finalize(pass);
      case 'writeSecret':
        return this.#writeSecret(pass, action);
      case 'deleteSecret':
        return this.#deleteSecret(pass);
      default:
        return this.#act(pass, action);
    }
  }

  async #act({ observed, memory, context, stamp }: Pass, action: NodeAction): Promise<Observed> {
    if (!context) throw new Error('A node action needs a MediaCluster');
    const { metadata } = observed.room;
    const { tracer, samplePercent = 0 } = this.#options;
    const span = tracer?.start(`Room ${action.type}`, 'internal', {
      parent: traceOfRoom(observed.room, samplePercent),
      attributes: {
        'k8s.namespace.name': metadata.namespace ?? '',
        'mediarooms.room.id': observed.roomId,
        'k8s.object.name': metadata.name,
      },
    });
    const codeOf = (error: unknown) => (error instanceof NodeError ? error.code : 'error');
    try {
      const after = await traced(span, codeOf, () => withTraceparent(span?.traceparent, () => act(context, observed, action)));
      memory.remember(observed, after, stamp, performance.now());
      return after;
    } catch (error) {
      // An aborted request may still take effect.
      if (action.type === 'create' && isUnavailable(error)) memory.createPendingUntil = performance.now() + createPendingMs;
      throw error;
    }
  }

  async #finalize({ observed, memory }: Pass): Promise<Observed> {
    const stored = await setFinalizer<Room>(this.#options.client, resources.rooms, observed.room, roomFinalizer, true);
    // Without the finalizer, a room created now would never be deleted.
    if (!stored) throw conflict(`Room ${keyOf(observed.room)} was deleted concurrently.`);
    memory.room = stored;
    return { ...observed, room: stored, finalized: true };
  }

  async #writeSecret(pass: Pass, { peers, keyGeneration }: Extract<Action, { type: 'writeSecret' }>): Promise<Observed> {
    const { observed, memory } = pass;
    const { client, secrets } = this.#options;
    pass.peersSecret = await writePeerSecret(client, observed.room, pass.peersSecret, peers, keyGeneration);
    if (pass.peersSecret) {
      memory.secret.set(pass.peersSecret, performance.now());
      secrets.written(pass.peersSecret);
    }
    return { ...observed, secret: readPeerSecret(pass.peersSecret, observed.room) };
  }

  async #deleteSecret(pass: Pass): Promise<Observed> {
    const { observed, memory, peersSecret } = pass;
    if (peersSecret) {
      await deletePeerSecret(this.#options.client, observed.room, peersSecret);
      memory.secret.delete(peersSecret.metadata.uid);
    }
    pass.peersSecret = undefined;
    return { ...observed, secret: undefined };
  }

  async #writeStatus({ observed, memory }: Pass, status: RoomStatus): Promise<Observed> {
    const { client, recorder } = this.#options;
    const stored = await applyStatus<Room>(client, resources.rooms, observed.room, status);
    if (!stored) return { ...observed, status };
    memory.room = stored;
    if (JSON.stringify(status.peers) !== JSON.stringify(observed.status.peers)) memory.countsAt = performance.now();
    for (const { type, reason, action, note } of transitions(observed.status, status)) recorder.emit(stored, type, reason, action, note);
    return { ...observed, status, room: stored };
  }

  async #release({ observed, memory }: Pass, orphan: boolean): Promise<void> {
    const { client, recorder } = this.#options;
    const { room, roomId, location } = observed;
    this.#released.set(room.metadata.uid, roomId);
    if (orphan) {
      const why = location.kind === 'unknown' ? ` ${location.message}` : '';
      recorder.emit(room, 'Warning', 'RoomLeft', 'Delete', `Room ${roomId} may remain on a node that could not be reached.${why}`);
    }
    memory.room = await setFinalizer<Room>(client, resources.rooms, room, roomFinalizer, false);
  }

  /** Only this version: the TTL may have changed. The finalizer is removed when the deletion arrives by the watch. */
  async #delete({ metadata }: Stored<Room>): Promise<void> {
    const { namespace, name, uid, resourceVersion } = metadata;
    await this.#options.client.delete(resources.rooms, { namespace, name }, { uid, resourceVersion });
  }

  /** The observation with the current time, and with the time for which the state of the room has been unknown. */
  #withTimes({ observed, memory }: Pass): Observed {
    const { kind } = observed.location;
    if (kind === 'present') memory.waitingSince = undefined;
    if (kind === 'unknown' || kind === 'retryable') memory.waitingSince ??= performance.now();
    return { ...observed, now: this.#now(), waitingForMs: performance.now() - (memory.waitingSince ?? performance.now()) };
  }

  /** The MediaCluster of clusterRef; otherwise the one that has the room, even if others exist now; otherwise the only one. */
  #findCluster({ spec, metadata: { namespace = '' } }: Stored<Room>, status: RoomStatus) {
    const { access } = this.#options;
    const named: unknown = spec?.clusterRef?.name;
    if (typeof named === 'string') return access.find(namespace, named);
    const on = status.cluster === undefined ? undefined : access.find(namespace, status.cluster);
    return on && 'cluster' in on ? on : access.find(namespace, undefined);
  }

  #clusterOf(cluster: Stored<MediaCluster>): Extract<Observed['cluster'], { name: string }> {
    return {
      name: cluster.metadata.name,
      defaults: defaultsOf(cluster),
      api: this.#options.access.publicUrl(cluster),
      keyGeneration: cluster.status?.keyGeneration ?? 0,
    };
  }

  #conflictIn(room: Stored<Room>, cluster: Stored<MediaCluster>): string | undefined {
    const { rooms, memories } = this.#options;
    const { namespace = '' } = room.metadata;
    const others = rooms.where('roomId', `${namespace}/${roomIdOf(room)}`).map((other) => {
      return newerVersion(other, memories.get(`${namespace}/${other.metadata.name}`)?.room) ?? other;
    });
    if (others.length < 2) return undefined;
    const same = others.filter((other) => {
      const named = this.#findCluster(other, other.status ?? {});
      return 'cluster' in named && named.cluster.metadata.uid === cluster.metadata.uid;
    });
    return conflictingRoom(room, same);
  }

  #now(): Date {
    return new Date(this.#options.now?.() ?? Date.now());
  }
}

/** Checks the externalId, because a recreated Room of the same name may have created a room with that id elsewhere. */
async function deleteOrphan(client: NodeClient, uid: string, roomId: string): Promise<void> {
  if ((await client.room(roomId)).externalId === uid) await client.deleteRoom(roomId);
}

/** Whether nodes must be asked; not before the room was created, or in a terminal phase. */
function asksNodes(observed: Observed): boolean {
  const { room, status, spec, conflictsWith, finalized } = observed;
  if (room.metadata.deletionTimestamp !== undefined) return finalized;
  return status.incarnation !== undefined && !isTerminal(observed) && conflictsWith === undefined && 'spec' in spec;
}
