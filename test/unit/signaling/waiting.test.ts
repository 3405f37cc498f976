// Waiting for admission on the socket: what a waiting peer may send, what is held, and how a wait ends.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { responseSchemas } from '../../../api/socket/peer.ts';
import { peerEventSchema } from '../../../api/socket/peer-events.ts';
import type { PeerSocketsOptions } from '../../../node/signaling/peer-sockets.ts';
import { fieldsOf } from '../../kit/fields.ts';
import { PeerSocket } from '../../kit/network/peer-socket.ts';
import { startSocketServer } from './socket-server.ts';

/** A room with a connected peer `host`, and a peer `a` that waits. */
async function waiting(t: TestContext, options: Partial<PeerSocketsOptions> = {}) {
  const server = await startSocketServer(t, options);
  const host = await server.enter('host');
  const room = server.rooms.room('room');
  room.patch({ admission: 'manual' });
  return { server, host, room, socket: await server.enter('a') };
}

const resume = (socket: { welcome: { data?: Record<string, unknown> } }) => ({ resume: socket.welcome.data?.sessionId, received: 0 });

test('requests of a waiting peer are held until it is admitted, except those about its profile', async (t) => {
  const { server, host, room, socket } = await waiting(t);
  const welcome = responseSchemas.authenticate.parse(socket.welcome.data);
  assert.deepEqual([welcome.waiting, welcome.peers, welcome.iceServers.length], [true, [], 1]);
  const [transport, join, data] = [
    socket.post('createTransport', { direction: 'recv' }),
    socket.post('join', { rtpCapabilities: {} }),
    socket.post('sendData', { label: 'chat', payload: 'hi' }),
  ];
  assert.equal((await socket.request('setPeerMetadata', { metadata: { name: 'Ada' } })).ok, true);
  assert.equal((await socket.request('setAttributes', { attributes: { hand: 'up' } })).ok, true);
  assert.equal((await socket.request('setAttributes', { attributes: 7 })).error?.code, 'invalid_field');
  assert.equal((await socket.request('ping')).ok, true);
  assert.deepEqual(fieldsOf(socket.frames.slice(1), 'ok'), [true, true, false, true]);
  room.peers.get('a').admission.admit();
  const admitted = await socket.waitFor('admitted');
  assert.deepEqual(peerEventSchema.parse({ event: 'admitted', data: admitted }).data, admitted);
  assert.deepEqual(admitted.peers, [{ id: 'host', metadata: null, tracks: [] }]);
  assert.deepEqual(admitted.attributes, { hand: 'up' });
  for (const id of [transport, join, data]) assert.equal((await socket.answer(id)).ok, true);
  assert.deepEqual((await host.waitFor('peerJoined')).peer, { id: 'a', metadata: { name: 'Ada' }, attributes: { hand: 'up' }, tracks: [] });
  assert.deepEqual(await host.waitFor('data'), { from: 'a', label: 'chat', payload: 'hi' });
  assert.deepEqual(fieldsOf(socket.frames.slice(5, 7), 'event')[0], 'admitted');
  assert.deepEqual(server.types('a').slice(-3), ['PeerAttributesUpdated', 'PeerWaitingEnded', 'PeerConnected']);
});

test('a wait survives a lost socket, and a peer that was admitted meanwhile is notified when it resumes', async (t) => {
  const { server, room, socket } = await waiting(t);
  const held = socket.post('join', { rtpCapabilities: {} });
  await socket.request('ping');
  await socket.cut();
  const second = await PeerSocket.enter(server.url, socket.token, resume(socket));
  assert.deepEqual([second.welcome.data?.resumed, second.welcome.data?.waiting, second.welcome.data?.lastRequest], [true, true, held + 1]);
  await second.cut();
  room.peers.get('a').admission.admit();
  const third = await PeerSocket.enter(server.url, socket.token, resume(socket));
  assert.deepEqual([third.welcome.data?.resumed, third.welcome.data?.waiting], [true, undefined]);
  await third.waitFor('admitted');
  assert.equal((await third.answer(held)).ok, true);
  assert.deepEqual(server.types('a'), ['PeerAdded', 'PeerWaiting', 'PeerWaitingEnded', 'PeerConnected']);
});

test('a denied peer is closed with 4403 "Peer removed", and its token is not valid any more', async (t) => {
  const { server, room, socket } = await waiting(t);
  room.peers.deny('a');
  assert.deepEqual(await socket.closed, { code: 4403, reason: 'Peer removed' });
  const again = await PeerSocket.enter(server.url, socket.token, resume(socket));
  assert.equal(again.welcome.error?.code, 'peer_not_found');
  assert.equal(server.sockets.sessions, 1);
});

test('a waiting peer leaves by request or by closing with 1000, and a takeover waits in its place', async (t) => {
  const { server, socket } = await waiting(t);
  const second = await PeerSocket.enter(server.url, socket.token, { takeover: true });
  assert.equal((await socket.closed).code, 4409);
  assert.equal(second.welcome.data?.waiting, true);
  second.post('join', { rtpCapabilities: {} });
  assert.equal((await second.request('leave')).ok, true);
  assert.equal((await second.closed).code, 1000);
  const third = await PeerSocket.enter(server.url, socket.token);
  await third.close(1000);
  await server.happened('PeerWaitingEnded', 'a', 3);
  assert.deepEqual(server.types('a'), ['PeerAdded', ...Array.from({ length: 3 }, () => ['PeerWaiting', 'PeerWaitingEnded']).flat()]);
});

test('more held requests than the limit are rejected, and the socket stays open', async (t) => {
  const { room, socket } = await waiting(t, { limits: { heldRequests: 2 } });
  const held = [socket.post('getStats'), socket.post('getStats')];
  assert.equal((await socket.request('getStats')).error?.code, 'too_many_requests');
  assert.equal((await socket.request('setPeerMetadata', { metadata: 1 })).ok, true);
  assert.equal((await socket.request('ping')).ok, true);
  room.peers.admitWaiting();
  for (const id of held) assert.equal((await socket.answer(id)).ok, true);
});
