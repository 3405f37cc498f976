// The server notification socket: who may listen, what they get, what closes it.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../../node/log.ts';
import { eventTypes, type RoomEvent, type RoomEventListener } from '../../../node/rooms/events.ts';
import { serverEventSchema } from '../../../node/signaling/server-messages.ts';
import { ServerSockets, type ServerSocketsOptions, serverSocketPath } from '../../../node/signaling/server-sockets.ts';
import { PeerSocket } from '../../kit/peer-socket.ts';

async function start(t: TestContext, options: Partial<ServerSocketsOptions> = {}) {
  const listeners = new Set<RoomEventListener>();
  const tokens = new Map<string, { name: string; scope: 'admin' | 'read' }>([
    ['secret', { name: 'main', scope: 'admin' }],
    ['reader', { name: 'dashboard', scope: 'read' }],
  ]);
  const sockets = new ServerSockets({
    log: silentLog(),
    verifyApiToken: (token) => tokens.get(token),
    subscribeEvents: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    rateLimit: () => 50,
    checkOrigin: () => 'any',
    address: () => 'media.example.com',
    ...options,
  });
  const server = createServer();
  server.on('upgrade', (request, socket, head) => sockets.handleUpgrade(request, socket, head));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    await sockets.close();
    await new Promise((resolve) => server.close(resolve));
  });
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}${serverSocketPath}`;
  let seq = 0;
  const emit = (type: RoomEvent['type'], roomId: string, more: Partial<RoomEvent> = {}) => {
    seq += 1;
    const event: RoomEvent = { id: `e${seq}`, type, time: new Date().toISOString(), seq, node: 'n', incarnation: 'i', roomId, ...more };
    for (const listener of listeners) listener(event);
  };
  return { sockets, tokens, listeners, url, emit };
}

const ids = (socket: PeerSocket) => socket.events('roomEvent').map((event) => event.data.id);

test('a holder of a token with scope read gets every event after subscribing to all', async (t) => {
  const server = await start(t);
  const socket = await PeerSocket.enter(server.url, 'reader');
  assert.deepEqual(socket.welcome.data, { name: 'dashboard', scope: 'read', svcAddress: 'media.example.com' });
  server.emit('RoomCreated', 'before');
  assert.deepEqual((await socket.request('subscribe', { events: 'all' })).data, { events: [...eventTypes], rooms: null });
  server.emit('RoomCreated', 'a');
  server.emit('PeerAdded', 'a', { peerId: 'p' });
  await socket.waitFor('roomEvent', ({ type }) => type === 'PeerAdded');
  assert.deepEqual(ids(socket), ['e2', 'e3']);
  for (const frame of socket.events('roomEvent')) serverEventSchema.parse(frame);
});

test('kinds and rooms limit what comes, a later subscribe takes the place of an earlier one, unsubscribe ends it', async (t) => {
  const server = await start(t);
  const socket = await PeerSocket.enter(server.url, 'secret');
  await socket.request('subscribe', { events: ['RoomCreated', 'RoomCreated'], rooms: ['a'] });
  server.emit('RoomCreated', 'a');
  server.emit('RoomCreated', 'b');
  server.emit('RoomDeleted', 'a');
  await socket.request('subscribe', { events: ['RoomDeleted'] });
  server.emit('RoomCreated', 'a');
  server.emit('RoomDeleted', 'b');
  await socket.request('unsubscribe');
  server.emit('RoomDeleted', 'b');
  await socket.request('ping');
  assert.deepEqual(ids(socket), ['e1', 'e5']);
});

for (const [name, data, message] of [
  ['an unknown kind', { events: ['RoomPainted'] }, 'Expected events to be \'all\' or a list of kinds of events, got: ["RoomPainted"]'],
  ['no kinds', {}, 'Required field events is missing'],
  ['too many rooms', { events: 'all', rooms: Array(1001).fill('a') }, /^Expected rooms to have at most 1000 items, got: /],
] as const) {
  test(`a subscription with ${name} is answered with one sentence`, async (t) => {
    const server = await start(t);
    const socket = await PeerSocket.enter(server.url, 'secret');
    const { error } = await socket.request('subscribe', data);
    assert.equal(error?.code, 'invalid_field');
    assert.match(error?.message ?? '', typeof message === 'string' ? new RegExp(`^${message.replace(/[.[\]]/g, '\\$&')}$`) : message);
  });
}

test('a wrong token is answered and closed with 4401', async (t) => {
  const server = await start(t);
  const socket = await PeerSocket.enter(server.url, 'wrong');
  assert.deepEqual(socket.welcome.error, { code: 'invalid_token', message: 'Invalid token' });
  assert.deepEqual(await socket.closed, { code: 4401, reason: '' });
});

test('nothing is told before authentication, and silence is closed with 4408', async (t) => {
  const server = await start(t, { limits: { authenticationTimeout: 50 } });
  const socket = await PeerSocket.open(server.url);
  server.emit('RoomCreated', 'a');
  assert.deepEqual(await socket.closed, { code: 4408, reason: '' });
  assert.deepEqual(socket.frames, []);
});

test('subscribe as first request is closed with 4401', async (t) => {
  const server = await start(t);
  const socket = await PeerSocket.open(server.url);
  assert.equal((await socket.request('subscribe', { events: 'all' })).error?.code, 'missing_token');
  assert.equal((await socket.closed).code, 4401);
});

test('malformed, large and too many messages are closed with 4400, 4413 and 4429', async (t) => {
  const server = await start(t, { rateLimit: () => 1 });
  const malformed = await PeerSocket.enter(server.url, 'secret');
  malformed.send('{');
  assert.deepEqual(await malformed.closed, { code: 4400, reason: '' });
  const large = await PeerSocket.enter(server.url, 'secret');
  large.send(JSON.stringify('x'.repeat(300 * 1024)));
  assert.deepEqual(await large.closed, { code: 4413, reason: '' });
  const fast = await PeerSocket.enter(server.url, 'secret');
  for (let count = 0; count < 6; count += 1) fast.post('ping');
  assert.deepEqual(await fast.closed, { code: 4429, reason: '' });
});

test('an unknown method and a second authenticate are answered with errors', async (t) => {
  const server = await start(t);
  const socket = await PeerSocket.enter(server.url, 'secret');
  assert.equal((await socket.request('join')).error?.message, 'Unknown method: "join"');
  assert.equal((await socket.request('authenticate', { token: 'secret' })).error?.code, 'conflict');
  assert.equal((await socket.request('ping')).ok, true);
});

test('sockets of a token that is no longer good are closed with 4401', async (t) => {
  const server = await start(t);
  const revoked = await PeerSocket.enter(server.url, 'reader');
  const kept = await PeerSocket.enter(server.url, 'secret');
  server.tokens.delete('reader');
  server.sockets.tokensChanged();
  assert.deepEqual(await revoked.closed, { code: 4401, reason: '' });
  assert.equal((await kept.request('ping')).ok, true);
});

test('a client that does not read its events is closed with 4410, and others get theirs', async (t) => {
  const server = await start(t, { limits: { bufferedBytes: 200_000, closeTimeout: 50 } });
  const slow = await PeerSocket.enter(server.url, 'secret');
  const quick = await PeerSocket.enter(server.url, 'secret');
  await slow.request('subscribe', { events: 'all' });
  await quick.request('subscribe', { events: ['RoomDeleted'] });
  slow.webSocket.pause();
  for (let count = 0; count < 1000; count += 1) server.emit('PeerAdded', 'a', { metadata: 'x'.repeat(16_000) });
  server.emit('RoomDeleted', 'a');
  await quick.waitFor('roomEvent', ({ type }) => type === 'RoomDeleted');
  slow.webSocket.resume();
  assert.equal((await slow.closed).code, 4410);
});

test('close() ends the subscription to events and every socket with 1001', async (t) => {
  const server = await start(t);
  const socket = await PeerSocket.enter(server.url, 'secret');
  await server.sockets.close();
  assert.deepEqual(await socket.closed, { code: 1001, reason: '' });
  assert.deepEqual([server.sockets.sockets, server.listeners.size], [0, 0]);
});
