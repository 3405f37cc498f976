// A node with real media over REST: every response matches its document.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiClient } from '../kit/answers/api-client.ts';
import { testedDocument } from '../kit/answers/documented-answers.ts';
import { startNode } from '../kit/processes/start-node.ts';

test('a room with a peer is created and ended over REST, and the node serves the document used by the tests', async (context) => {
  const { url, token } = await startNode(context);
  const api = apiClient(url, token);
  assert.equal((await api.get('/readyz')).status, 200);
  const health = (await api.get('/health')).body.data;
  assert.deepEqual([health.status, health.state, health.distribution.enabled], ['UP', 'accepting', false]);
  const { cpu, ...load } = health.load;
  assert.deepEqual(load, { rooms: 0, connectedPeers: 0, forwardedTracks: 0, streams: 0, rejectedRooms: 0 });
  assert.ok(cpu >= 0 && cpu <= 1, String(cpu));
  const served = (await api.get('/openapi.json')).body;
  assert.deepEqual(Object.keys(served.paths), Object.keys(testedDocument.paths));
  assert.equal((await api.get('/asyncapi.json')).status, 200);
  const room = (await api.post('/room', { roomId: 'r', videoCodec: 'vp8' })).body.data;
  assert.equal(room.svc_address, new URL(url).host);
  const peer = (await api.post('/room/r/peer', { type: 'webrtc', peerId: 'p' })).body.data;
  assert.equal(peer.peer_websocket_url, `${room.svc_address}/socket/peer/websocket`);
  assert.equal((await api.patch('/room/r/peer/p', { permissions: { publish: [] } })).status, 200);
  assert.equal((await api.post('/room/r/peer/p/token')).status, 201);
  assert.equal((await api.post('/room/r/data', { label: 'l', payload: 1 })).status, 202);
  assert.equal((await api.patch('/room/r', { maxPeers: 1 })).body.data.config.maxPeers, 1);
  assert.equal((await api.post('/room/r/peer', { type: 'webrtc' })).body.code, 'room_full');
  assert.equal((await api.delete('/room/r/peer/p')).status, 204);
  assert.equal((await api.get('/room')).body.data.length, 1);
  assert.equal((await api.delete('/room/r')).status, 204);
  assert.equal((await api.get('/room/r')).body.code, 'room_ended');
  assert.equal((await api.get('/socket/peer/websocket')).body.code, 'bad_request');
});

test('in development mode the console receives the token', async (context) => {
  const { url } = await startNode(context, { SVC_SERVER_API_TOKEN: '' });
  const { body } = await apiClient(url).get('/console/session');
  assert.equal(body.development, true);
  assert.equal((await apiClient(url, body.token).get('/health')).status, 200);
});

test('the status of a node changes with its drain', async (context) => {
  const { url, token, node } = await startNode(context);
  const api = apiClient(url, token);
  const status = async () => (await api.get('/health')).body.data as { status: string; reason: string | null };
  assert.deepEqual([(await status()).status, (await status()).reason], ['UP', null]);
  assert.equal((await api.post(`/cluster/nodes/${node.name}/drain`, {})).status, 202);
  const { status: drained, reason } = await status();
  assert.deepEqual([drained, reason], ['DRAINING', 'The node is draining and accepts no new rooms']);
  assert.equal((await api.delete(`/cluster/nodes/${node.name}/drain`)).status, 204);
  assert.equal((await status()).status, 'UP');
});
