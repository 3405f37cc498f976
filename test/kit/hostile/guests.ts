// Guests of an attacked node.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { EnteredSocket } from '../network/peer-socket.ts';
import { enterRoom } from '../network/room-sockets.ts';
import type { NodeProcess } from '../processes/node-process.ts';

export async function makeRoom({ api }: NodeProcess, roomId: string): Promise<void> {
  const { status, body } = await api.post('/room', { roomId });
  assert.equal(status, 201, JSON.stringify(body));
}

/** A joined peer with an ordinary token. `peer`: options of `POST /room/{id}/peer`. */
export async function joinAsGuest(t: TestContext, node: NodeProcess, roomId: string, peer: object = {}): Promise<EnteredSocket> {
  const socket = await enterRoom(t, node, roomId, peer);
  const joined = await socket.request('join', { rtpCapabilities: socket.welcome.data?.rtpCapabilities });
  assert.ok(joined.ok, JSON.stringify(joined.error));
  return socket;
}
