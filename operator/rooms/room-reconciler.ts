// Reconciler of one Room: observes, decides and acts until no action is left.
import { roomStatusSchema } from '../../crds/room.ts';
import type { RoomStatus } from '../../crds/types.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Reconciled } from '../kube/controller.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import { addFinalizer, hasFinalizer, removeFinalizer } from '../kube/finalizers.ts';
import { conflict, isConflict, isNotFound } from '../kube/http/kube-error.ts';
import { keyOf, resources, type Stored } from '../kube/objects.ts';
import type { Reflector } from '../kube/reflector.ts';
import { applyStatus } from '../kube/status-writer.ts';
import type { Log } from '../log.ts';
import type { NodeClient } from '../nodes/node-client.ts';
import type { NodeRoom } from '../nodes/schemas.ts';
import type { MediaCluster, Room } from '../objects.ts';
import { type ActContext, act, type NodeAction, peersCacheKey, relocateRoom } from './act.ts';
import { BoundedMap } from './bounded-map.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { contentDigest } from './cluster-client.ts';
import { type ClusterClients, clusterCacheKey } from './cluster-clients.ts';
import { defaultsOf, readSpec, roomIdOf } from './desired.ts';
import { desiredComponents, type Secret, SecretDigests } from './desired-components.ts';
import type { Action, Observed } from './observed.ts';
import { peerSecretName, readPeerSecret } from './peer-secret.ts';
import { reconcile } from './reconcile.ts';
import { createPendingMs, newerVersion, RoomCache } from './room-cache.ts';
import { conflictingRoom } from './room-conflicts.ts';
import { deletePeerSecret, writePeerSecret } from './secret-writer.ts';
import { transitions } from './transitions.ts';

export const roomFinalizer = 'mediarooms.dev/room';

/** More than any Room needs. A Room that is not settled after this many steps is requeued with backoff. */
const maxSteps = 25;
const conflictMs = 50;
const maxOrphans = 10_000;

/** Collaborators of the reconciler. */
export type RoomDeps = {
  client: Pick<KubeClient, 'find' | 'create' | 'apply' | 'patch' | 'delete'>;
  /** With `roomIndexes`; its changes are passed to `roomChanged` and `roomDeleted` of the controller. */
  rooms: Pick<Reflector<Room>, 'get' | 'list' | 'where'>;
  /** Of the same namespaces; its changes are passed to `secretChanged` and `secretDeleted`. */
  secrets: Pick<Reflector<Secret>, 'get'>;
  access: ClusterAccess;
  recorder: Pick<EventRecorder, 'emit'>;
  log: Log;
  /** Wall clock in milliseconds since 1970. */
  now?: () => number;
  /** Dry run: replaces actions on nodes, which are only read. */
  dryRun?: (context: ActContext, action: NodeAction) => void;
};
export type RoomReconcilerOptions = RoomDeps & { links: ClusterClients; memories: Map<string, RoomCache> };

/** One reconcile of a Room, from observation to the last action. */
type Task = { state: Observed; memory: RoomCache; peersSecret: Stored<Secret> | undefined; context: ActContext | undefined };

export class RoomReconciler {
  readonly #options: RoomReconcilerOptions;
  /** Requests of the previous operator process have taken effect by then, in monotonic milliseconds. */
  readonly #createPendingUntil: number;
  readonly #digests = new SecretDigests();
  /** Ids of rooms orphaned on unreachable nodes, by externalId. */
  readonly #orphans = new BoundedMap<string, string>(maxOrphans);

  constructor(options: RoomReconcilerOptions) {
    this.#options = options;
    this.#createPendingUntil = options.dryRun ? 0 : performance.now() + createPendingMs;
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Reconciled> {
    const { rooms, memories } = this.#options;
    const cached = rooms.get(key);
    if (!cached) {
      memories.delete(key);
      return undefined;
    }
    const known = memories.get(key);
    const memory = known?.uid === cached.metadata.uid ? known : new RoomCache(cached.metadata.uid, this.#createPendingUntil);
    memories.set(key, memory);
    try {
      const task = await this.#gather(newerVersion(cached, memory.room) ?? cached, memory, signal);
      return await this.#settle(task);
    } catch (error) {
      // Changed concurrently; the other write will arrive by the watch.
      if (isConflict(error)) return { requeueAfterMs: conflictMs };
      if (isNotFound(error) && !rooms.get(key)) return undefined;
      throw error;
    }
  }

  /** Deletes orphaned rooms that reappear. */
  deleteOrphans(namespace: string, cluster: string, found: ReadonlyMap<string | null, NodeRoom>): void {
    for (const [uid, roomId] of this.#orphans.map) {
      if (!found.has(uid)) continue;
      const [first] = this.#options.links.get(namespace, cluster)?.candidates() ?? [];
      if (first)
        deleteOrphan(first.client, uid, roomId).catch((error: unknown) =>
          this.#options.log.info({ err: error, roomId }, 'could not delete orphaned room'),
        );
    }
  }

  async #gather(room: Stored<Room>, memory: RoomCache, signal: AbortSignal): Promise<Task> {
    const { links, secrets } = this.#options;
    const { namespace = '', uid, deletionTimestamp } = room.metadata;
    const parsed = roomStatusSchema.safeParse(room.status ?? {});
    const status: RoomStatus = parsed.success ? parsed.data : {};
    const spec = readSpec(room);
    const found = this.#findCluster(room, status);
    const cluster = 'cluster' in found ? found.cluster : undefined;
    const secretOf = (name: string) => secrets.get(`${namespace}/${name}`);
    const monotonic = performance.now();
    const stamp = cluster ? `${status.incarnation}|${room.metadata.generation}|${clusterCacheKey(cluster)}` : '';
    if (deletionTimestamp !== undefined) memory.deletingSince ??= monotonic;
    const peersSecret = memory.secret.current(secretOf(peerSecretName(room.metadata)), monotonic);
    const state: Observed = {
      room,
      roomId: roomIdOf(room),
      spec,
      status,
      finalized: hasFinalizer(room, roomFinalizer),
      cluster: 'cluster' in found ? this.#clusterOf(found.cluster) : found,
      conflictsWith: cluster && this.#rivalOf(room, cluster),
      fate: { kind: 'absent' },
      desiredComponents: 'spec' in spec ? await desiredComponents(spec.spec, uid, secretOf, this.#digests) : [],
      componentEnds: new Map(),
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
    if (!cluster) return { state, memory, peersSecret, context: undefined };
    const link = links.open(namespace, cluster.metadata.name);
    const fresh = new Map<string, { token: string; url: string }>();
    state.newTokens = fresh;
    state.componentEnds = link.componentEnds;
    const context = { state, memory, link, cluster: cluster.metadata.name, stamp, fresh, signal, now: () => performance.now() };
    if (asksNodes(state)) state.fate = await relocateRoom(context);
    state.refusedPeers = memory.peers.current(peersCacheKey(stamp, state.fate), monotonic);
    return { state, memory, peersSecret, context };
  }

  async #settle(task: Task): Promise<Reconciled> {
    const { state, memory } = task;
    for (let step = 0; step < maxSteps; step += 1) {
      state.now = this.#now();
      this.#countWaiting(task);
      const { status, action } = reconcile(state);
      if (action.type === 'removeFinalizer') {
        await this.#release(task, action.orphan);
        return undefined;
      }
      if (action.type === 'wait') {
        await this.#write(task, status);
        memory.digest = state.fate.kind === 'present' ? contentDigest(state.fate.room) : undefined;
        return action.requeueAfterMs === undefined ? undefined : { requeueAfterMs: action.requeueAfterMs };
      }
      await this.#do(task, status, action);
    }
    throw new Error(`Room ${state.room.metadata.namespace}/${state.room.metadata.name} was not settled in ${maxSteps} steps`);
  }

  async #do(task: Task, status: RoomStatus, action: Exclude<Action, { type: 'wait' | 'removeFinalizer' }>): Promise<void> {
    const { state, memory, context } = task;
    const { client } = this.#options;
    switch (action.type) {
      case 'writeStatus':
        await this.#write(task, status);
        return;
      case 'finalize': {
        const stored = await addFinalizer<Room>(client, resources.rooms, state.room, roomFinalizer);
        // Without the finalizer, a room created now would never be deleted.
        if (!stored) throw conflict(`Room ${keyOf(state.room)} was deleted concurrently.`);
        memory.room = stored;
        state.room = stored;
        state.finalized = true;
        return;
      }
      case 'writeSecret':
        task.peersSecret = await writePeerSecret(client, state.room, task.peersSecret, action.peers, action.keyGeneration);
        if (task.peersSecret) memory.secret.set(task.peersSecret, performance.now());
        state.secret = readPeerSecret(task.peersSecret, state.room);
        return;
      case 'deleteSecret':
        if (task.peersSecret) {
          await deletePeerSecret(client, state.room, task.peersSecret);
          memory.secret.delete(task.peersSecret.metadata.uid);
        }
        task.peersSecret = undefined;
        state.secret = undefined;
        return;
      default:
        if (!context) throw new Error('A node action needs a MediaCluster');
        if (this.#options.dryRun) this.#options.dryRun(context, action);
        else await act(context, action);
    }
  }

  async #write({ state, memory }: Task, status: RoomStatus): Promise<void> {
    const { client, recorder } = this.#options;
    const told = transitions(state.status, status);
    const counted = JSON.stringify(status.peers) !== JSON.stringify(state.status.peers);
    state.status = status;
    const stored = await applyStatus<Room>(client, resources.rooms, state.room, status);
    if (!stored) return;
    memory.room = stored;
    state.room = stored;
    if (counted) memory.countsAt = performance.now();
    for (const { type, reason, action, note } of told) recorder.emit(stored, type, reason, action, note);
  }

  async #release({ state, memory }: Task, orphan: boolean): Promise<void> {
    const { client, recorder } = this.#options;
    const { room, roomId, fate } = state;
    if (orphan) {
      this.#orphans.set(room.metadata.uid, roomId);
      const why = fate.kind === 'unknown' ? ` ${fate.message}` : '';
      recorder.emit(room, 'Warning', 'RoomLeft', 'Delete', `Room ${roomId} may remain on a node that could not be reached.${why}`);
    }
    memory.room = await removeFinalizer<Room>(client, resources.rooms, room, roomFinalizer);
  }

  /** Updates the time for which the state of the room has been unknown. */
  #countWaiting({ state, memory }: Task): void {
    if (state.fate.kind === 'present') memory.waitingSince = undefined;
    if (state.fate.kind === 'unknown' || state.fate.kind === 'retryable') memory.waitingSince ??= performance.now();
    state.waitingForMs = performance.now() - (memory.waitingSince ?? performance.now());
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
      api: this.#options.access.publicUrls(cluster)?.api,
      keyGeneration: cluster.status?.keyGeneration ?? 0,
    };
  }

  #rivalOf(room: Stored<Room>, cluster: Stored<MediaCluster>): string | undefined {
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
function asksNodes({ room, status, spec, conflictsWith, finalized }: Observed): boolean {
  if (room.metadata.deletionTimestamp !== undefined) return finalized;
  const over = status.phase === 'Finished' || (status.phase === 'Failed' && 'spec' in spec && spec.spec.recreate === 'Never');
  return status.incarnation !== undefined && !over && conflictsWith === undefined && 'spec' in spec;
}
