// Actions of the Room controller on nodes. Each returns the new observation, which the next decision sees, and changes no other state.

import { peerSocketPath } from '../../api/peer.ts';
import { eachOf } from '../each-of.ts';
import type { NodeClient } from '../nodes/node-client.ts';
import { clientError, hasCode, isUnavailable, NodeError } from '../nodes/node-error.ts';
import type { NodeRoom, PeerRequest, RoomRequest } from '../nodes/schemas.ts';
import type { ClusterClient } from './cluster-client.ts';
import type { DesiredComponent } from './desired-components.ts';
import { type LocateRoomOptions, locateRoom, unreachableReason } from './locate-room.ts';
import type { Action, Observed, ObservedRoom, Rejection } from './observed.ts';
import { tokenTimes } from './peer-secret.ts';
import { createPendingMs } from './room-cache.ts';
import { crashWindowMs, maxCrashes } from './room-end.ts';

export type ActContext = {
  link: LocateRoomOptions['link'] & Pick<ClusterClient, 'componentEnds'>;
  cluster: string;
  signal: AbortSignal;
  /** Monotonic milliseconds. */
  now: () => number;
};

export type NodeAction = Exclude<
  Action,
  { type: 'writeStatus' | 'finalize' | 'removeFinalizer' | 'writeSecret' | 'deleteSecret' | 'wait' }
>;
type Of<T extends NodeAction['type']> = Extract<NodeAction, { type: T }>;

/** Concurrent requests for peers and tokens. */
const width = 8;
const maxProbes = 3;

/** The observation while an action runs: requests run concurrently, and those that succeeded count even if another fails. */
class Draft {
  observed: Observed;

  constructor(observed: Observed) {
    this.observed = observed;
  }

  set(change: Partial<Observed>): void {
    this.observed = { ...this.observed, ...change };
  }

  changeRoom(to: (room: NodeRoom) => Partial<NodeRoom>): void {
    const { location } = this.observed;
    if (location.kind === 'present') this.set({ location: { ...location, room: { ...location.room, ...to(location.room) } } });
  }
}

/** Performs the action. Expected failures are part of the observation. @throws other errors */
export async function act(context: ActContext, observed: Observed, action: NodeAction): Promise<Observed> {
  const draft = new Draft(observed);
  try {
    await perform(context, draft, action);
  } catch (error) {
    if (hasCode(error, 'room_not_found', 'room_ended')) draft.set({ location: await relocateRoom(context, draft.observed) });
    else if (error instanceof NodeError && isUnavailable(error) && !context.signal.aborted) draft.set({ location: unreachable(error) });
    else throw error;
  }
  return draft.observed;
}

export function relocateRoom({ link, cluster, signal }: ActContext, { roomId, status, room }: Observed): Promise<ObservedRoom> {
  const { uid, deletionTimestamp } = room.metadata;
  return locateRoom({ link, cluster, roomId, uid, status, deleting: deletionTimestamp !== undefined, signal });
}

function unreachable(error: NodeError): ObservedRoom {
  return { kind: 'unknown', reason: unreachableReason(error), message: error.message };
}

async function perform(context: ActContext, draft: Draft, action: NodeAction): Promise<void> {
  if (action.type === 'create') return create(context, draft, action.request);
  const node = nodeOf(context, draft.observed);
  switch (action.type) {
    case 'delete':
      return deleteRoom(context, draft, node);
    case 'patch':
      return patch(context, draft, node, action);
    case 'removeComponents':
      return removeComponents(context, draft, node, action);
    case 'addComponents':
      for (const component of action.components) await addComponent(context, draft, node, component);
      return;
    case 'removePeers':
      return removePeers(context, draft, node, action);
    case 'addPeers':
      return addPeers(context, draft, node, action.peers);
    case 'patchPeers':
      return patchPeers(context, draft, node, action);
    case 'tokens':
      return eachOf(action.peers, width, (peerId) => freshToken(context, draft, node, peerId));
  }
}

/** The owning node of the room, otherwise any node. */
function nodeOf({ link, cluster }: ActContext, { location }: Observed): NodeClient {
  const name = location.kind === 'present' ? location.node : undefined;
  const owner = link.nodes().find(({ pod }) => pod === name);
  const node = owner ? link.clientOf(owner) : link.candidates()[0]?.client;
  if (node) return node;
  throw clientError('unreachable', `MediaCluster ${cluster} has no node for this request.`);
}

async function create({ link, cluster, signal }: ActContext, draft: Draft, request: RoomRequest): Promise<void> {
  const fail = (location: ObservedRoom) => draft.set({ location });
  const ready = link.candidates({ ready: true });
  if (ready.length === 0) {
    return fail({ kind: 'retryable', reason: 'NoReadyNode', message: `MediaCluster ${cluster} has no ready node that accepts rooms.` });
  }
  for (const { client } of ready.slice(0, maxProbes)) {
    try {
      const { room, address, node = await link.nodeAt(address, signal) } = await client.createRoom(request, signal);
      return draft.set({ location: { kind: 'present', room, address, ...(node !== undefined && { node }) } });
    } catch (error) {
      if (isUnavailable(error)) draft.set({ createPendingMs });
      if (!(error instanceof NodeError) || signal.aborted) throw error;
      if (error.code === 'already_exists') return fail({ kind: 'foreign' });
      if (error.code === 'no_node_accepts_rooms') {
        return fail({ kind: 'retryable', reason: 'NoNodeAcceptsRooms', message: `MediaCluster ${cluster}: ${error.message}.` });
      }
      if (!isUnavailable(error)) return fail({ kind: 'rejected', reason: 'RefusedByNode', message: `${error.message}.` });
      fail(unreachable(error));
      // The next attempt may use another node; until then the status reports the timeout.
      if (error.code === 'timeout') return;
    }
  }
}

async function deleteRoom({ signal }: ActContext, draft: Draft, node: NodeClient): Promise<void> {
  await node.deleteRoom(draft.observed.roomId, signal).catch(ignoreMissing('room_not_found', 'room_ended'));
  draft.set({ location: { kind: 'absent' } });
}

async function patch({ signal }: ActContext, draft: Draft, node: NodeClient, { config }: Of<'patch'>): Promise<void> {
  try {
    const room = await node.patchRoom(draft.observed.roomId, config, signal);
    draft.changeRoom(() => room);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    draft.set({ refusedConfig: { reason: 'ConfigRefused', message: `The node rejected the configuration: ${error.message}.` } });
  }
}

async function removeComponents({ signal }: ActContext, draft: Draft, node: NodeClient, { ids }: Of<'removeComponents'>): Promise<void> {
  const { roomId } = draft.observed;
  await eachOf(ids, width, (id) => node.deleteComponent(roomId, id, signal).catch(ignoreMissing('component_not_found')));
  draft.changeRoom(({ components }) => ({ components: components.filter(({ id }) => !ids.includes(id)) }));
}

type CreatableComponent = Extract<DesiredComponent, { request: unknown }>;

async function addComponent(context: ActContext, draft: Draft, node: NodeClient, { name, revision, request }: CreatableComponent) {
  const { link, signal, now } = context;
  const { roomId, status } = draft.observed;
  const refuse = (rejection: Rejection) =>
    draft.set({ refusedComponents: new Map([...draft.observed.refusedComponents, [`${name}/${revision}`, rejection]]) });
  const last = status.components?.find((component) => component.name === name)?.id;
  if (last !== undefined && link.componentEnds.get(last) === 'crashed' && crashesOf(draft, name, now()) >= maxCrashes) {
    return refuse({ reason: 'ComponentCrashed', message: 'It crashed three times within ten minutes.', retryAfterMs: crashWindowMs });
  }
  try {
    const component = await node.addComponent(roomId, request, signal);
    // A repeated request returns the same component.
    const isSame = ({ id, externalId }: typeof component) => id === component.id && externalId === component.externalId;
    draft.changeRoom(({ components }) => ({ components: [...components.filter((each) => !isSame(each)), component] }));
  } catch (error) {
    // A node without capacity returns 503, like an unavailable node; an encrypted room returns 409.
    if (!isRefusal(error) && !hasCode(error, 'unavailable', 'room_full', 'conflict')) throw error;
    refuse({ reason: error.status === 503 ? 'ComponentNotNow' : 'ComponentRefused', message: `${error.message}.` });
  }
}

/** Number of crashes of the component within the window, with one that happened now. */
function crashesOf(draft: Draft, name: string, now: number): number {
  const { componentCrashes } = draft.observed;
  const recent = [...(componentCrashes.get(name) ?? []).filter((at) => now - at < crashWindowMs), now].slice(-maxCrashes);
  draft.set({ componentCrashes: new Map([...componentCrashes, [name, recent]]) });
  return recent.length;
}

async function removePeers({ signal }: ActContext, draft: Draft, node: NodeClient, { ids }: Of<'removePeers'>): Promise<void> {
  const { roomId } = draft.observed;
  await eachOf(ids, width, (id) => node.deletePeer(roomId, id, signal).catch(ignoreMissing('peer_not_found')));
  draft.changeRoom(({ peers }) => ({ peers: peers.filter(({ id }) => !ids.includes(id)) }));
}

async function addPeers({ signal }: ActContext, draft: Draft, node: NodeClient, peers: readonly PeerRequest[]): Promise<void> {
  let full: NodeError | undefined;
  await eachOf(peers, width, async (request) => {
    try {
      if (full) throw full;
      const { peer, token, url } = await node.addPeer(draft.observed.roomId, request, signal);
      draft.changeRoom((room) => ({ peers: [...room.peers.filter(({ id }) => id !== peer.id), peer] }));
      keepToken(draft, peer.id, token, url);
    } catch (error) {
      if (hasCode(error, 'room_full')) full = error;
      else if (!isRefusal(error)) throw error;
      refusePeer(draft, request, { reason: full ? 'RoomFull' : 'PeerRefused', message: `${(error as NodeError).message}.` });
    }
  });
}

async function patchPeers({ signal }: ActContext, draft: Draft, node: NodeClient, action: Of<'patchPeers'>): Promise<void> {
  await eachOf(action.peers, width, async (request) => {
    const { peerId } = request;
    try {
      const peer = await node.patchPeer(draft.observed.roomId, request, signal).catch(ignoreMissing('peer_not_found'));
      draft.changeRoom(({ peers }) => ({ peers: peers.flatMap((each) => (each.id !== peerId ? [each] : peer ? [peer] : [])) }));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      refusePeer(draft, request, { reason: 'PeerRefused', message: `${error.message}.` });
    }
  });
}

function refusePeer(draft: Draft, { peerId }: Pick<PeerRequest, 'peerId'>, rejection: Rejection): void {
  draft.set({ refusedPeers: new Map([...draft.observed.refusedPeers, [peerId, rejection]]) });
}

async function freshToken({ signal }: ActContext, draft: Draft, node: NodeClient, peerId: string): Promise<void> {
  const { roomId, location } = draft.observed;
  const address = location.kind === 'present' ? location.address : undefined;
  try {
    const token = await node.peerToken(roomId, peerId, signal);
    const url = address === undefined ? (await node.peer(roomId, peerId, signal)).url : `${address}${peerSocketPath}`;
    keepToken(draft, peerId, token, url);
  } catch (error) {
    if (!hasCode(error, 'peer_not_found')) throw error;
    draft.changeRoom(({ peers }) => ({ peers: peers.filter(({ id }) => id !== peerId) }));
  }
}

/** The token also contains the clock of the node. */
function keepToken(draft: Draft, peerId: string, token: string, url: string): void {
  const { newTokens, now } = draft.observed;
  const times = tokenTimes(token);
  draft.set({
    newTokens: new Map([...newTokens, [peerId, { token, url }]]),
    ...(times && { skewMs: times.issuedAt - now.getTime() }),
  });
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
