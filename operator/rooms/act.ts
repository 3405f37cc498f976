// Actions of the Room controller on nodes. Each updates the observed state, so that the next decision sees its result.

import type { NodeClient } from '../nodes/node-client.ts';
import { hasCode, isUnavailable, NodeError } from '../nodes/node-error.ts';
import type { NodeRoom, PeerRequest, RoomRequest } from '../nodes/schemas.ts';
import type { ClusterClient } from './cluster-client.ts';
import type { DesiredComponent } from './desired-components.ts';
import { locateRoom, unreachableReason } from './locate-room.ts';
import type { Action, Observed, ObservedRoom } from './observed.ts';
import { tokenTimes } from './peer-secret.ts';
import { createPendingMs, type RoomCache } from './room-cache.ts';

export type ActContext = {
  state: Observed;
  memory: RoomCache;
  link: ClusterClient;
  cluster: string;
  /** Cache key of rejections: they are retried when it changes. */
  stamp: string;
  fresh: Map<string, { token: string; url: string }>;
  signal: AbortSignal;
  /** Monotonic milliseconds. */
  now: () => number;
};

export type NodeAction = Exclude<
  Action,
  { type: 'writeStatus' | 'finalize' | 'removeFinalizer' | 'writeSecret' | 'deleteSecret' | 'wait' }
>;

/** Concurrent requests for peers and tokens. */
const width = 8;
const maxProbes = 3;
const crashPauseMs = 10 * 60_000;

/** Performs the action; expected failures update the observed state. @throws other errors */
export async function act(context: ActContext, action: NodeAction): Promise<void> {
  const { state } = context;
  try {
    await perform(context, action);
  } catch (error) {
    if (hasCode(error, 'room_not_found', 'room_ended')) state.fate = await relocateRoom(context);
    else if (error instanceof NodeError && isUnavailable(error) && !context.signal.aborted) state.fate = unreachable(error);
    else throw error;
  }
}

export function unreachable(error: NodeError): ObservedRoom {
  return { kind: 'unknown', reason: unreachableReason(error), message: error.message };
}

export function relocateRoom({ state, link, cluster, signal }: ActContext): Promise<ObservedRoom> {
  const { roomId, status, room } = state;
  return locateRoom({ link, cluster, roomId, uid: room.metadata.uid, status, signal });
}

async function perform(context: ActContext, action: NodeAction): Promise<void> {
  const { state, memory, signal } = context;
  const { roomId } = state;
  if (action.type === 'create') {
    state.fate = await create(context, action.request);
    return;
  }
  const node = nodeOf(context);
  switch (action.type) {
    case 'delete':
      await node.deleteRoom(roomId, signal).catch(ignoreMissing('room_not_found', 'room_ended'));
      state.fate = { kind: 'absent' };
      // The room existed, so its create request is not pending any more.
      memory.createPendingUntil = Number.NEGATIVE_INFINITY;
      state.createPendingMs = 0;
      return;
    case 'patch':
      await patch(context, node, action);
      return;
    case 'removeComponents':
      await eachOf(action.ids, (id) => node.deleteComponent(roomId, id, signal).catch(ignoreMissing('component_not_found')));
      change(state, (room) => ({ ...room, components: room.components.filter(({ id }) => !action.ids.includes(id)) }));
      return;
    case 'addComponents':
      for (const component of action.components) await addComponent(context, node, component);
      return;
    case 'removePeers':
      await eachOf(action.ids, (id) => node.deletePeer(roomId, id, signal).catch(ignoreMissing('peer_not_found')));
      change(state, (room) => ({ ...room, peers: room.peers.filter(({ id }) => !action.ids.includes(id)) }));
      return;
    case 'addPeers':
      await addPeers(context, node, action.peers);
      return;
    case 'patchPeers':
      await eachOf(action.peers, async ({ peerId, permissions }) => {
        const peer = await node.patchPeer(roomId, peerId, permissions, signal).catch(ignoreMissing('peer_not_found'));
        change(state, (room) => ({ ...room, peers: room.peers.flatMap((each) => (each.id !== peerId ? [each] : peer ? [peer] : [])) }));
      });
      return;
    case 'tokens':
      await eachOf(action.peers, (peerId) => freshToken(context, node, peerId));
  }
}

/** The owning node of the room, otherwise any node. */
function nodeOf({ state, link, cluster }: ActContext): NodeClient {
  const name = state.fate.kind === 'present' ? state.fate.node : undefined;
  const owner = link.nodes().find(({ pod }) => pod === name);
  const node = owner ? link.clientOf(owner) : link.candidates()[0]?.client;
  if (node) return node;
  throw new NodeError({ status: 0, code: 'unreachable', sentence: `MediaCluster ${cluster} has no node for this request.` });
}

async function create(context: ActContext, request: RoomRequest): Promise<ObservedRoom> {
  const { memory, link, cluster, signal, now } = context;
  const ready = link.candidates({ ready: true });
  if (ready.length === 0) {
    const message = `MediaCluster ${cluster} has no ready node that accepts rooms.`;
    return { kind: 'retryable', reason: 'NoReadyNode', message };
  }
  let failed: NodeError | undefined;
  for (const { client } of ready.slice(0, maxProbes)) {
    try {
      const { room, address } = await client.createRoom(request, signal);
      const node = await link.nodeAt(address, signal);
      return { kind: 'present', room, address, ...(node !== undefined && { node }) };
    } catch (error) {
      if (isUnavailable(error)) memory.createPendingUntil = now() + createPendingMs;
      if (!(error instanceof NodeError) || signal.aborted) throw error;
      if (error.code === 'already_exists') return { kind: 'foreign' };
      if (error.code === 'no_node_accepts_rooms') {
        return { kind: 'retryable', reason: 'NoNodeAcceptsRooms', message: `MediaCluster ${cluster}: ${error.message}.` };
      }
      if (!isUnavailable(error)) return { kind: 'rejected', reason: 'RefusedByNode', message: `${error.message}.` };
      failed = error;
      // The next attempt may use another node; until then the status reports the timeout.
      if (error.code === 'timeout') break;
    }
  }
  return failed ? unreachable(failed) : { kind: 'unknown', reason: 'NodeUnreachable', message: 'No node could be reached.' };
}

async function patch({ state, memory, stamp, signal, now }: ActContext, node: NodeClient, { config }: Extract<Action, { type: 'patch' }>) {
  try {
    const room = await node.patchRoom(state.roomId, config, signal);
    change(state, () => room);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const why = { reason: 'ConfigRefused', message: `The node rejected the configuration: ${error.message}.` };
    memory.config.set('config', why, stamp, now());
    state.refusedConfig = why;
  }
}

type CreatableComponent = Extract<DesiredComponent, { request: unknown }>;

async function addComponent(context: ActContext, node: NodeClient, { name, revision, request }: CreatableComponent): Promise<void> {
  const { state, memory, link, stamp, signal, now } = context;
  const last = state.status.components?.find((component) => component.name === name)?.id;
  const refuse = (reason: string, message: string, ms?: number) => {
    const key = `${name}/${revision}`;
    memory.components.set(key, { reason, message }, stamp, now(), ms);
    state.refusedComponents = new Map([...state.refusedComponents, [key, { reason, message }]]);
  };
  if (last !== undefined && link.componentEnds.get(last) === 'crashed' && !memory.componentCrashed(name, now())) {
    refuse('ComponentCrashed', 'It crashed three times within ten minutes.', crashPauseMs);
    return;
  }
  try {
    const component = await node.addComponent(state.roomId, request, signal);
    change(state, (room) => ({ ...room, components: [...room.components.filter(({ id }) => id !== component.id), component] }));
  } catch (error) {
    // A node without capacity returns 503, like an unavailable node.
    if (!isRefusal(error) && !hasCode(error, 'unavailable', 'room_full')) throw error;
    refuse(error.status === 503 ? 'ComponentNotNow' : 'ComponentRefused', `${error.message}.`);
  }
}

async function addPeers(context: ActContext, node: NodeClient, peers: readonly PeerRequest[]): Promise<void> {
  const { state, memory, stamp, signal, now } = context;
  let full: NodeError | undefined;
  const refuse = (name: string, reason: string, message: string) => {
    memory.peers.set(name, { reason, message }, peersCacheKey(stamp, state.fate), now());
    state.refusedPeers = new Map([...state.refusedPeers, [name, { reason, message }]]);
  };
  await eachOf(peers, async (request) => {
    try {
      if (full) throw full;
      const { peer, token, url } = await node.addPeer(state.roomId, request, signal);
      change(state, (room) => ({ ...room, peers: [...room.peers.filter(({ id }) => id !== peer.id), peer] }));
      keepToken(context, peer.id, token, url);
    } catch (error) {
      if (hasCode(error, 'room_full')) full = error;
      else if (!isRefusal(error)) throw error;
      refuse(request.peerId, full ? 'RoomFull' : 'PeerRefused', `${(error as NodeError).message}.`);
    }
  });
}

async function freshToken(context: ActContext, node: NodeClient, peerId: string): Promise<void> {
  const { state, signal } = context;
  const address = state.fate.kind === 'present' ? state.fate.address : undefined;
  try {
    const token = await node.peerToken(state.roomId, peerId, signal);
    const url = address === undefined ? (await node.peer(state.roomId, peerId, signal)).url : `${address}/socket/peer/websocket`;
    keepToken(context, peerId, token, url);
  } catch (error) {
    if (!hasCode(error, 'peer_not_found')) throw error;
    change(state, (room) => ({ ...room, peers: room.peers.filter(({ id }) => id !== peerId) }));
  }
}

/** Peers rejected by a full room are retried when the number of peers changes. */
export function peersCacheKey(stamp: string, observedRoom: ObservedRoom): string {
  return `${stamp}|${observedRoom.kind === 'present' ? observedRoom.room.peers.length : ''}`;
}

/** The token also contains the clock of the node. */
function keepToken({ fresh, memory, state }: ActContext, peerId: string, token: string, url: string): void {
  fresh.set(peerId, { token, url });
  const times = tokenTimes(token);
  if (!times) return;
  memory.skewMs = times.issuedAt - state.now.getTime();
  state.skewMs = memory.skewMs;
}

function change(state: Observed, to: (room: NodeRoom) => NodeRoom): void {
  if (state.fate.kind === 'present') state.fate = { ...state.fate, room: to(state.fate.room) };
}

/** The node processed the request and rejected it. */
function isRefusal(error: unknown): error is NodeError {
  return error instanceof NodeError && error.status >= 400 && !isUnavailable(error) && !hasCode(error, 'room_not_found', 'room_ended');
}

function ignoreMissing(...codes: string[]): (error: unknown) => undefined {
  return (error) => {
    if (!hasCode(error, ...codes)) throw error;
    return undefined;
  };
}

/** Limits concurrency; after a failure no more items are started. @throws the first failure, after all running items have ended */
async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const waiting = [...items];
  const failures: unknown[] = [];
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined && failures.length === 0; next = waiting.shift()) {
      await work(next).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
}
