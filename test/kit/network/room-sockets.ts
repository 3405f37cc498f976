// Sockets of a node in tests: a peer of a room, and a subscriber of its events.
import assert from 'node:assert/strict';
import type { Scope } from '../kube/scope.ts';
import type { NodeAccess } from '../processes/start-node.ts';
import { type EnteredSocket, PeerSocket } from './peer-socket.ts';

/** Adds a peer to the room and connects it; its connection is cut with the scope. `peer`: options of `POST /room/{id}/peer`. */
export async function enterRoom(
  scope: Scope,
  { api, peerSocketUrl }: Pick<NodeAccess, 'api' | 'peerSocketUrl'>,
  roomId: string,
  peer: object = {},
): Promise<EnteredSocket> {
  const { status, body } = await api.post(`/room/${roomId}/peer`, { type: 'webrtc', ...peer });
  assert.equal(status, 201, JSON.stringify(body));
  const socket = await PeerSocket.enter(peerSocketUrl, body.data.token);
  scope.after(async () => void (await socket.cut()));
  assert.equal(socket.welcome.ok, true, JSON.stringify(socket.welcome.error));
  return socket;
}

/** A notification socket that is subscribed to all events; cut with the scope. */
export async function watchEvents(
  scope: Scope,
  { serverSocketUrl, token }: Pick<NodeAccess, 'serverSocketUrl' | 'token'>,
): Promise<PeerSocket> {
  const socket = await PeerSocket.enter(serverSocketUrl, token);
  scope.after(async () => void (await socket.cut()));
  assert.equal((await socket.request('subscribe', { events: 'all' })).ok, true);
  return socket;
}
