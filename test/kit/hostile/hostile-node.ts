// Attacked node: a node process, and the peers in its rooms.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Environment } from '../../../node/env.ts';
import { type ApiClient, apiClient } from '../answers/api-client.ts';
import { PeerSocket } from '../network/peer-socket.ts';
import { type NodeProcess, startNodeProcess } from '../processes/node-process.ts';
import { apiToken } from '../processes/start-node.ts';

export type HostileNode = NodeProcess & { api: ApiClient; peerSocketUrl: string };
export type Guest = PeerSocket & { welcome: { data?: Record<string, unknown> } };

/** A separate node with one media worker. */
export async function startHostileNode(t: TestContext, env: Environment = {}): Promise<HostileNode> {
  const node = await startNodeProcess(t, env);
  const peerSocketUrl = `${node.url.replace(/^http/, 'ws')}/socket/peer/websocket`;
  return { ...node, api: apiClient(node.url, env.SVC_SERVER_API_TOKEN ?? apiToken), peerSocketUrl };
}

export async function makeRoom({ api }: HostileNode, roomId: string): Promise<void> {
  const { status, body } = await api.post('/room', { roomId });
  assert.equal(status, 201, JSON.stringify(body));
}

/** A joined peer with an ordinary token. `peer`: options of `POST /room/{id}/peer`. */
export async function joinAsGuest(t: TestContext, node: HostileNode, roomId: string, peer: object = {}): Promise<Guest> {
  const { status, body } = await node.api.post(`/room/${roomId}/peer`, { type: 'webrtc', ...peer });
  assert.equal(status, 201, JSON.stringify(body));
  const socket = await PeerSocket.enter(node.peerSocketUrl, body.data.token);
  t.after(() => socket.webSocket.terminate());
  assert.ok(socket.welcome.ok, JSON.stringify(socket.welcome.error));
  const joined = await socket.request('join', { rtpCapabilities: socket.welcome.data?.rtpCapabilities });
  assert.ok(joined.ok, JSON.stringify(joined.error));
  return socket as Guest;
}
