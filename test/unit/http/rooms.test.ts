// REST routes of rooms, peers, tracks and data, over a real socket on real rooms.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PeerView } from '../../../api/peer.ts';
import { connectPeer, joinPeer, publish, TestConnection } from '../../kit/fakes/rooms.ts';
import { fieldsOf } from '../../kit/fields.ts';
import { startServer } from './server.ts';

test('POST /room without a body creates a room with a random id and returns the address of its node', async (context) => {
  const { api } = await startServer(context);
  const { status, body } = await api.post('/room');
  assert.equal(status, 201);
  assert.match(body.data.room.id, /^[\da-f-]{36}$/);
  assert.equal(body.data.svc_address, 'node.test:5002');
  assert.deepEqual(body.data.room.config, {
    roomId: body.data.room.id,
    maxPeers: null,
    videoCodec: null,
    webhookUrl: null,
    metadata: null,
    admission: 'automatic',
    peerlessPurgeTimeout: null,
    peerDisconnectedTimeout: null,
  });
});

test('a room is created with every option, shown, changed and deleted, and then has ended', async (context) => {
  const { api } = await startServer(context);
  const options = {
    roomId: 'My_room-1',
    externalId: 'key',
    maxPeers: 3,
    videoCodec: 'vp8',
    webhookUrl: 'https://hooks.test/x',
    metadata: ['any JSON'],
    admission: 'manual',
    peerlessPurgeTimeout: 60,
    peerDisconnectedTimeout: null,
  };
  const made = await api.post('/room', options);
  assert.equal(made.status, 201);
  assert.equal(made.body.data.room.externalId, 'key');
  const shown = await api.get('/room/My_room-1');
  assert.equal(shown.status, 200);
  assert.deepEqual(shown.body.data, made.body.data.room);
  const changed = await api.patch('/room/My_room-1', { maxPeers: null, webhookUrl: null });
  assert.equal(changed.status, 200);
  assert.deepEqual(changed.body.data.config, { ...shown.body.data.config, maxPeers: null, webhookUrl: null });
  assert.equal((await api.delete('/room/My_room-1')).status, 204);
  const ended = await api.get('/room/My_room-1');
  assert.equal(ended.status, 404);
  assert.deepEqual(ended.body, { errors: 'Room My_room-1 has ended: deleted', code: 'room_ended', reason: 'deleted' });
});

test('a room id in use is rejected with the message of earlier servers', async (context) => {
  const { api } = await startServer(context);
  await api.post('/room', { roomId: 'a' });
  const { status, body } = await api.post('/room', { roomId: 'a' });
  assert.equal(status, 400);
  assert.deepEqual(body, { errors: 'Cannot add room with id "a" - room already exists', code: 'already_exists' });
});

test('GET /room returns pages with a cursor until the last one', async (context) => {
  const { api } = await startServer(context);
  for (const roomId of ['a', 'b', 'c']) await api.post('/room', { roomId });
  const all = await api.get('/room');
  assert.deepEqual(fieldsOf<{ id: string }>(all.body.data, 'id'), ['a', 'b', 'c']);
  assert.deepEqual(all.body.incomplete, []);
  const first = await api.get('/room?limit=2');
  assert.equal(first.body.data.length, 2);
  const second = await api.get(`/room?limit=2&cursor=${first.body.cursor}`);
  assert.deepEqual(fieldsOf<{ id: string }>(second.body.data, 'id'), ['c']);
  assert.ok(!('cursor' in second.body));
});

test('GET /room rejects an invalid limit, a repeated parameter and an unknown one', async (context) => {
  const { api } = await startServer(context);
  const messages: Record<string, string> = {
    'limit=0': 'Expected limit to be an integer from 1 to 1000, got: "0"',
    'limit=1001': 'Expected limit to be an integer from 1 to 1000, got: "1001"',
    'limit=x': 'Expected limit to be an integer from 1 to 1000, got: "x"',
    'limit=1e2': 'Expected limit to be an integer from 1 to 1000, got: "1e2"',
    'limit=': 'Expected limit to be an integer from 1 to 1000, got: ""',
    'limit=1&limit=2': 'Query parameter "limit" is given twice',
    '__proto__=1': 'Unknown query parameter __proto__',
    'limt=1': 'Unknown query parameter limt',
    'cursor=': 'Expected cursor to have at least 1 character, got: ""',
  };
  for (const [query, message] of Object.entries(messages)) {
    const { status, body } = await api.get(`/room?${query}`);
    assert.deepEqual([status, body.errors], [400, message], query);
  }
});

test('a new peer gets a token for its room and the websocket address of the owning node', async (context) => {
  const { api, keys } = await startServer(context, { host: () => 'other.test/path' });
  await api.post('/room', { roomId: 'r' });
  const { status, body } = await api.post('/room/r/peer', {
    type: 'webrtc',
    peerId: 'alice',
    metadata: { name: 'Alice' },
    externalId: 'e',
    options: { enableSimulcast: false },
  });
  assert.equal(status, 201);
  assert.equal(body.data.peer_websocket_url, 'node.test:5002/socket/peer/websocket');
  assert.deepEqual(body.data.peer.metadata, { name: 'Alice' });
  assert.equal(body.data.peer.status, 'disconnected');
  const claims = await keys.verify(body.data.token);
  assert.deepEqual([claims?.roomId, claims?.peerId], ['r', 'alice']);
  const again = await api.post('/room/r/peer', { type: 'webrtc', externalId: 'e' });
  assert.equal(again.status, 200);
  assert.equal(again.body.data.peer.id, 'alice');
  const shown = await api.get('/room/r/peer/alice');
  assert.deepEqual(shown.body.data, { peer: body.data.peer, peer_websocket_url: 'node.test:5002/socket/peer/websocket' });
  const fresh = await api.post('/room/r/peer/alice/token');
  assert.equal(fresh.status, 201);
  assert.notEqual(fresh.body.data.token, body.data.token);
  assert.ok(await keys.verify(fresh.body.data.token));
  assert.equal((await api.delete('/room/r/peer/alice')).status, 204);
  const ended = await api.get('/room/r/peer/alice');
  assert.deepEqual([ended.status, ended.body.code], [404, 'peer_not_found']);
});

test('PATCH of a peer changes only the given permissions', async (context) => {
  const { api } = await startServer(context);
  await api.post('/room', { roomId: 'r' });
  await api.post('/room/r/peer', { type: 'webrtc', peerId: 'p', options: { permissions: { publish: ['audio'], subscribe: false } } });
  const { status, body } = await api.patch('/room/r/peer/p', { permissions: { data: false } });
  assert.equal(status, 200);
  assert.deepEqual(body.data.peer.permissions, { publish: ['audio'], subscribe: false, data: false });
  assert.equal(body.data.peer_websocket_url, 'node.test:5002/socket/peer/websocket');
});

test('the metadata of a room is set, shown to its peers and changed with PATCH', async (context) => {
  const { api, rooms } = await startServer(context);
  assert.deepEqual((await api.post('/room', { roomId: 'r', metadata: { topic: 1 } })).body.data.room.config.metadata, { topic: 1 });
  const peer = await joinPeer(rooms, 'r', 'alice');
  assert.deepEqual((await peer.peer.welcome()).roomMetadata, { topic: 1 });
  for (const metadata of [{ topic: 2 }, { topic: 2 }, null]) {
    const { status, body } = await api.patch('/room/r', { metadata });
    assert.deepEqual([status, body.data.config.metadata], [200, metadata]);
  }
  await api.patch('/room/r', { maxPeers: 3 });
  assert.deepEqual(peer.connection.of('roomMetadataUpdated'), [{ metadata: { topic: 2 } }, { metadata: null }]);
  assert.equal((await api.patch('/room/r', { metadata: 'x'.repeat(17_000) })).status, 400);
});

test('PATCH of a peer changes name, metadata and attributes, and nothing if it is empty', async (context) => {
  const { api } = await startServer(context);
  await api.post('/room', { roomId: 'r' });
  await api.post('/room/r/peer', { type: 'webrtc', peerId: 'p', metadata: { role: 'guest' }, attributes: { seat: '7' } });
  const patched = async (patch: object) => {
    const { status, body } = await api.patch('/room/r/peer/p', patch);
    assert.equal(status, 200);
    return [body.data.peer.metadata, body.data.peer.attributes];
  };
  assert.deepEqual(await patched({}), [{ role: 'guest' }, { seat: '7' }]);
  assert.deepEqual(await patched({ name: 'Ada', attributes: { seat: null, hand: 'up' } }), [
    { role: 'guest', name: 'Ada' },
    { hand: 'up' },
  ]);
  assert.deepEqual(await patched({ metadata: { role: 'host' } }), [{ role: 'host' }, { hand: 'up' }]);
});

test('waiting peers are admitted one by one or all at once, or denied', async (context) => {
  const { api, rooms } = await startServer(context);
  await api.post('/room', { roomId: 'r', admission: 'manual' });
  const ids = ['ada', 'bob', 'cyd', 'dan'];
  for (const peerId of ids) {
    await api.post('/room/r/peer', { type: 'webrtc', peerId });
    rooms.findPeer('r', peerId)?.connect(new TestConnection());
  }
  const statuses = async () => (await api.get('/room/r')).body.data.peers.map(({ id, status }: PeerView) => `${id} ${status}`);
  assert.deepEqual(await statuses(), ['ada waiting', 'bob waiting', 'cyd waiting', 'dan waiting']);
  assert.equal((await api.post('/room/r/peer/ada/admit')).status, 204);
  assert.equal((await api.post('/room/r/peer/ada/admit')).status, 204);
  assert.equal((await api.post('/room/r/peer/bob/deny')).status, 204);
  assert.deepEqual(await statuses(), ['ada connected', 'cyd waiting', 'dan waiting']);
  assert.equal((await api.post('/room/r/admit')).status, 204);
  assert.deepEqual(await statuses(), ['ada connected', 'cyd connected', 'dan connected']);
  const refused = async (path: string) => {
    const { status, body } = await api.post(path);
    return [status, body.code, body.errors];
  };
  assert.deepEqual(await refused('/room/r/peer/bob/admit'), [404, 'peer_not_found', 'Peer bob does not exist']);
  assert.deepEqual(await refused('/room/r/peer/ada/deny'), [409, 'conflict', 'Peer ada does not wait for admission']);
  assert.equal((await api.patch('/room/r', { admission: null })).status, 400);
});

test('a full room responds 503 room_full', async (context) => {
  const { api } = await startServer(context);
  await api.post('/room', { roomId: 'r', maxPeers: 1 });
  await api.post('/room/r/peer', { type: 'webrtc' });
  const { status, body } = await api.post('/room/r/peer', { type: 'webrtc' });
  assert.deepEqual([status, body], [503, { errors: 'Reached webrtc peers limit in room r', code: 'room_full' }]);
});

test('a node that accepts no rooms responds 503 with Retry-After', async (context) => {
  const { api, rooms } = await startServer(context);
  await rooms.drain();
  const { status, body, headers } = await api.post('/room');
  assert.deepEqual([status, body.code, headers.get('retry-after')], [503, 'no_node_accepts_rooms', '5']);
});

test('a track is listed, muted, unmuted and removed', async (context) => {
  const { api, rooms } = await startServer(context);
  await api.post('/room', { roomId: 'r' });
  const alice = await joinPeer(rooms, 'r', 'alice');
  const trackId = await publish(alice, 'audio', 'microphone');
  const track = async () => (await api.get('/room/r')).body.data.peers[0].tracks[0];
  assert.equal((await track()).id, trackId);
  assert.equal((await api.post(`/room/r/track/${trackId}/mute`)).status, 204);
  assert.equal((await track()).muted, true);
  assert.equal((await api.post(`/room/r/track/${trackId}/unmute`)).status, 204);
  assert.equal((await track()).muted, false);
  assert.equal((await api.delete(`/room/r/track/${trackId}`)).status, 204);
  assert.equal(await track(), undefined);
  for (const call of [
    () => api.delete('/room/r/track/none'),
    () => api.post('/room/r/track/none/mute'),
    () => api.post('/room/r/track/none/unmute'),
  ]) {
    const { status, body } = await call();
    assert.deepEqual([status, body.code], [404, 'track_not_found']);
  }
});

test('data of the server reaches the given peers', async (context) => {
  const { api, rooms } = await startServer(context);
  await api.post('/room', { roomId: 'r' });
  const alice = await joinPeer(rooms, 'r', 'alice');
  await api.post('/room/r/peer', { type: 'webrtc', peerId: 'bob' });
  const bob = await connectPeer(rooms, 'r', 'bob');
  const { status, body } = await api.post('/room/r/data', { label: 'chat', payload: { text: 'hi' }, to: ['bob'] });
  assert.deepEqual([status, body], [202, undefined]);
  assert.deepEqual(bob.connection.of('data'), [{ from: null, label: 'chat', payload: { text: 'hi' } }]);
  assert.deepEqual(alice.connection.of('data'), []);
});

test('every request for an unknown room is answered 404 room_not_found', async (context) => {
  const { api } = await startServer(context);
  const calls: [method: string, path: string, json?: unknown][] = [
    ['GET', '/room/x'],
    ['PATCH', '/room/x', {}],
    ['DELETE', '/room/x'],
    ['POST', '/room/x/data', { label: 'l', payload: null }],
    ['POST', '/room/x/peer', { type: 'webrtc' }],
    ['GET', '/room/x/peer/p'],
    ['PATCH', '/room/x/peer/p', { permissions: {} }],
    ['DELETE', '/room/x/peer/p'],
    ['POST', '/room/x/peer/p/token'],
    ['DELETE', '/room/x/track/t'],
    ['POST', '/room/x/track/t/mute'],
    ['POST', '/room/x/track/t/unmute'],
  ];
  for (const [method, path, json] of calls) {
    const { status, body } = await api.request(method, path, json === undefined ? {} : { json });
    assert.deepEqual([status, body.code], [404, 'room_not_found'], `${method} ${path}`);
  }
});
