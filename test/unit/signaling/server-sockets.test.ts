// Server websocket: authentication, subscriptions, and limits that close it.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { eventTypes, type RoomEvent } from '../../../api/events.ts';
import { serverEventSchema, serverSocketPath } from '../../../api/socket/server.ts';
import { EventLog } from '../../../node/events/event-log.ts';
import type { SourcedEventListener } from '../../../node/rooms/event-feed.ts';
import { type ApiToken, ApiTokens } from '../../../node/rooms/tokens/api-tokens.ts';
import { SignedCalls } from '../../../node/rooms/tokens/signed-calls.ts';
import { ServerSockets, type ServerSocketsOptions } from '../../../node/signaling/server-sockets.ts';
import { signedRequest, signedSocket } from '../../../operator/nodes/signature.ts';
import { fieldsOf } from '../../kit/fields.ts';
import { listen } from '../../kit/network/listen.ts';
import { PeerSocket } from '../../kit/network/peer-socket.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { turns } from '../../kit/turns.ts';

async function start(t: TestContext, options: Partial<ServerSocketsOptions> = {}, capacity = 20) {
  const events = new EventLog(silentLog(), { node: 'n', capacity });
  const listeners = new Set<SourcedEventListener>();
  let tokens: ApiToken[] = [
    { token: 'secret', name: 'main', scope: 'admin' },
    { token: 'reader', name: 'dashboard', scope: 'read' },
  ];
  const revoke = (token: string) => {
    tokens = tokens.filter((each) => each.token !== token);
  };
  const apiTokens = new ApiTokens(() => tokens);
  const sockets = new ServerSockets({
    log: silentLog(),
    apiTokens,
    signedCalls: new SignedCalls({ tokens: apiTokens, address: () => '10.0.0.1:8080' }),
    events: {
      cursor: () => events.cursor(),
      since: (source, index, limit) => events.since(source, index, limit),
      subscribe: (listener) => {
        listeners.add(listener);
        const stop = events.subscribe(listener);
        return () => {
          stop();
          listeners.delete(listener);
        };
      },
    },
    rateLimit: () => 50,
    checkOrigin: () => 'any',
    address: () => 'media.example.com',
    ...options,
  });
  const server = createServer();
  server.on('upgrade', (request, socket, head) => sockets.handleUpgrade(request, socket, head));
  t.after(() => sockets.close());
  const url = `ws://127.0.0.1:${await listen(t, server)}${serverSocketPath}`;
  let seq = 0;
  const emit = (type: RoomEvent['type'], roomId: string, more: Partial<RoomEvent> = {}) => {
    seq += 1;
    events.publish({ id: `e${seq}`, type, time: new Date().toISOString(), seq, node: 'n', incarnation: 'i', roomId, ...more });
  };
  return { sockets, revoke, listeners, url, emit, source: events.source };
}

/** With a client that has authenticated. */
async function entered(t: TestContext, options: Partial<ServerSocketsOptions> = {}, capacity = 20) {
  const server = await start(t, options, capacity);
  return { server, socket: await PeerSocket.enter(server.url, 'secret') };
}

const ids = (socket: PeerSocket) => socket.events('roomEvent').map((event) => event.data.id);

test('a client with a read token receives every event after subscribing to all', async (t) => {
  const server = await start(t);
  const socket = await PeerSocket.enter(server.url, 'reader');
  assert.deepEqual(socket.welcome.data, { name: 'dashboard', scope: 'read', svcAddress: 'media.example.com' });
  server.emit('RoomCreated', 'before');
  assert.deepEqual((await socket.request('subscribe', { events: 'all' })).data, {
    events: [...eventTypes],
    rooms: null,
    cursor: { [server.source]: 1 },
    incomplete: [],
  });
  server.emit('RoomCreated', 'a');
  server.emit('PeerAdded', 'a', { peerId: 'p' });
  await socket.waitFor('roomEvent', ({ type }) => type === 'PeerAdded');
  assert.deepEqual(ids(socket), ['e2', 'e3']);
  for (const frame of socket.events('roomEvent')) serverEventSchema.parse(frame);
});

test('types and rooms filter events, a later subscribe replaces an earlier one, and unsubscribe ends it', async (t) => {
  const { server, socket } = await entered(t);
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
  ['an unknown type', { events: ['RoomPainted'] }, 'Expected events to be \'all\' or a list of event types, got: ["RoomPainted"]'],
  ['no types', {}, 'Required field events is missing'],
  ['too many rooms', { events: 'all', rooms: Array(1001).fill('a') }, /^Expected rooms to have at most 1000 items, got: /],
] as const) {
  test(`a subscription with ${name} is answered with one error message`, async (t) => {
    const { socket } = await entered(t);
    const { error } = await socket.request('subscribe', data);
    assert.equal(error?.code, 'invalid_field');
    assert.match(error?.message ?? '', typeof message === 'string' ? new RegExp(`^${message.replace(/[.[\]]/g, '\\$&')}$`) : message);
  });
}

test('an invalid token is answered and closed with 4401', async (t) => {
  const server = await start(t);
  const socket = await PeerSocket.enter(server.url, 'wrong');
  assert.deepEqual(socket.welcome.error, { code: 'invalid_token', message: 'Invalid token' });
  assert.deepEqual(await socket.closed, { code: 4401, reason: 'Not authenticated' });
});

test('a client that guesses tokens is closed with 4429, while a valid token is accepted', async (t) => {
  const server = await start(t, { apiTokens: new ApiTokens(() => [{ token: 'secret', name: 'main', scope: 'admin' }], 2) });
  for (let guess = 0; guess < 2; guess += 1) {
    assert.equal((await (await PeerSocket.enter(server.url, `guess ${guess}`)).closed).code, 4401);
  }
  const refused = await PeerSocket.enter(server.url, 'guess 2');
  assert.equal(refused.welcome.error?.code, 'too_many_requests');
  assert.deepEqual(await refused.closed, { code: 4429, reason: 'Too many messages' });
  assert.equal((await PeerSocket.enter(server.url, 'secret')).welcome.ok, true);
});

test('a signature replaces the token of a socket, once, and only while the token is valid', async (t) => {
  const server = await start(t);
  const url = `http://10.0.0.1:8080${serverSocketPath}`;
  const signature = signedSocket({ token: 'secret', url });
  const socket = await PeerSocket.enter(server.url, signature);
  assert.equal(socket.welcome.data?.name, 'main');
  const again = await PeerSocket.enter(server.url, signature);
  assert.deepEqual(again.welcome.error, { code: 'invalid_token', message: 'The signature was already used' });
  assert.equal((await again.closed).code, 4401);
  const request = await PeerSocket.enter(server.url, signedRequest({ token: 'secret', method: 'GET', url, body: '' }));
  assert.equal(request.welcome.error?.message, 'Unsupported signature format');
  assert.equal((await request.closed).code, 4401);
  assert.equal((await socket.request('ping')).ok, true);
  server.revoke('secret');
  server.sockets.tokensChanged();
  assert.equal((await socket.closed).code, 4401);
});

test('nothing is sent before authentication, and silence is closed with 4408', async (t) => {
  const server = await start(t, { limits: { authenticationTimeout: 50 } });
  const socket = await PeerSocket.open(server.url);
  server.emit('RoomCreated', 'a');
  assert.deepEqual(await socket.closed, { code: 4408, reason: 'Authentication timeout' });
  assert.deepEqual(socket.frames, []);
});

test('subscribe as first request is closed with 4401', async (t) => {
  const server = await start(t);
  const socket = await PeerSocket.open(server.url);
  assert.equal((await socket.request('subscribe', { events: 'all' })).error?.code, 'missing_token');
  assert.equal((await socket.closed).code, 4401);
});

test('malformed, large and too many messages are closed with 4400, 4413 and 4429', async (t) => {
  // Four at once, and the next one a minute later.
  const server = await start(t, { rateLimit: () => 1 / 60, limits: { burst: 240 } });
  const malformed = await PeerSocket.enter(server.url, 'secret');
  malformed.send('{');
  assert.deepEqual(await malformed.closed, { code: 4400, reason: 'Malformed message' });
  const large = await PeerSocket.enter(server.url, 'secret');
  large.send(JSON.stringify('x'.repeat(300 * 1024)));
  assert.deepEqual(await large.closed, { code: 4413, reason: 'Message too large' });
  const fast = await PeerSocket.enter(server.url, 'secret');
  for (let count = 0; count < 6; count += 1) fast.post('ping');
  assert.deepEqual(await fast.closed, { code: 4429, reason: 'Too many messages' });
});

test('an unknown method and a second authenticate are answered with errors', async (t) => {
  const { socket } = await entered(t);
  assert.equal((await socket.request('join')).error?.message, 'Unknown method: "join"');
  assert.equal((await socket.request('authenticate', { token: 'secret' })).error?.code, 'conflict');
  assert.equal((await socket.request('ping')).ok, true);
});

test('sockets of a revoked token are closed with 4401', async (t) => {
  const server = await start(t);
  const revoked = await PeerSocket.enter(server.url, 'reader');
  const kept = await PeerSocket.enter(server.url, 'secret');
  server.revoke('reader');
  server.sockets.tokensChanged();
  assert.deepEqual(await revoked.closed, { code: 4401, reason: 'Not authenticated' });
  assert.equal((await kept.request('ping')).ok, true);
});

test('a client that does not read its events is closed with 4410, and others receive theirs', async (t) => {
  const server = await start(t, { limits: { bufferedBytes: 200_000 } });
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

test('close() ends the subscription to events and closes every socket with 1001', async (t) => {
  const { server, socket } = await entered(t);
  await server.sockets.close();
  assert.deepEqual(await socket.closed, { code: 1001, reason: 'Node going away: resume at another node' });
  assert.deepEqual([server.sockets.sockets, server.listeners.size], [0, 0]);
});

test('with a cursor missed events follow the response and precede live ones, each once', async (t) => {
  const server = await start(t);
  for (let count = 0; count < 5; count += 1) server.emit('PeerAdded', 'a');
  const socket = await PeerSocket.enter(server.url, 'secret');
  const answer = socket.request('subscribe', { events: 'all', cursor: { [server.source]: 2 } });
  server.emit('PeerAdded', 'a');
  assert.deepEqual((await answer).data?.cursor, { [server.source]: 2 });
  server.emit('RoomDeleted', 'a');
  await socket.waitFor('roomEvent', ({ type }) => type === 'RoomDeleted');
  const frames = socket.frames.filter((frame) => frame.event === 'roomEvent');
  assert.deepEqual(
    fieldsOf(frames, 'source', 'index'),
    [3, 4, 5, 6, 7].map((index) => [server.source, index]),
  );
  for (const frame of frames) serverEventSchema.parse(frame);
});

test('events of uploads have an index but no seq, and are sent once and resumed by cursor', async (t) => {
  const { server, socket } = await entered(t);
  await socket.request('subscribe', { events: 'all' });
  server.emit('RoomDeleted', 'a');
  server.emit('RecordingUploaded', 'a', { seq: undefined, recordingId: 'a-1' });
  await socket.waitFor('roomEvent', ({ type }) => type === 'RecordingUploaded');
  const { data } = await socket.request('ping');
  assert.deepEqual(data, { cursor: { [server.source]: 2 } });
  server.emit('HlsUploadCrashed', 'a', { seq: undefined, recordingId: 'a-2', reason: 'no' });
  const again = await PeerSocket.enter(server.url, 'secret');
  await again.request('subscribe', { events: 'all', cursor: { [server.source]: 2 } });
  server.emit('RoomCreated', 'b');
  await again.waitFor('roomEvent', ({ type }) => type === 'RoomCreated');
  assert.deepEqual(ids(again), ['e3', 'e4']);
});

test('an empty cursor returns all kept events, and missing ones are reported as incomplete', async (t) => {
  const server = await start(t);
  for (let count = 0; count < 25; count += 1) server.emit('PeerAdded', 'a');
  const socket = await PeerSocket.enter(server.url, 'secret');
  const { data } = await socket.request('subscribe', { events: 'all', cursor: {} });
  assert.deepEqual([data?.cursor, data?.incomplete], [{ [server.source]: 5 }, [server.source]]);
  await socket.waitFor('roomEvent', ({ id }) => id === 'e25');
  assert.equal(ids(socket).length, 20);
});

test('an unknown source and an unassigned index are reported as incomplete, and new events are sent', async (t) => {
  const server = await start(t);
  server.emit('PeerAdded', 'a');
  const socket = await PeerSocket.enter(server.url, 'secret');
  const { data } = await socket.request('subscribe', { events: 'all', cursor: { 'gone#1': 7, [server.source]: 99 } });
  assert.deepEqual(data?.incomplete, ['gone#1', server.source].sort());
  server.emit('RoomDeleted', 'a');
  await socket.waitFor('roomEvent', ({ type }) => type === 'RoomDeleted');
});

test('ping returns the position of filtered events, so that a narrow subscription does not repeat old ones', async (t) => {
  const { server, socket } = await entered(t);
  await socket.request('subscribe', { events: ['RoomDeleted'] });
  for (let count = 0; count < 3; count += 1) server.emit('PeerAdded', 'a');
  assert.deepEqual((await socket.request('ping')).data, { cursor: { [server.source]: 3 } });
  await socket.request('unsubscribe');
  assert.deepEqual((await socket.request('ping')).data, {});
});

test('cursors with too many sources or invalid indexes are rejected', async (t) => {
  const { socket } = await entered(t);
  const many = Object.fromEntries(Array.from({ length: 1001 }, (_, at) => [`n#${at}`, 1]));
  for (const cursor of [many, { n: -1 }, { n: 'x' }, { ['n'.repeat(601)]: 1 }, []]) {
    assert.equal((await socket.request('subscribe', { events: 'all', cursor })).error?.code, 'invalid_field');
  }
});

test('a second subscribe replaces the first one while that is resolving its cursor', async (t) => {
  const server = await start(t);
  server.emit('PeerAdded', 'a');
  const socket = await PeerSocket.enter(server.url, 'secret');
  const first = socket.post('subscribe', { events: 'all', cursor: {} });
  const second = socket.post('subscribe', { events: ['RoomDeleted'] });
  assert.equal((await socket.answer(second)).ok, true);
  const answer = await socket.answer(first);
  assert.ok(answer.ok || answer.error?.code === 'conflict');
  server.emit('PeerAdded', 'a');
  server.emit('RoomDeleted', 'a');
  await socket.waitFor('roomEvent', ({ type }) => type === 'RoomDeleted');
  assert.ok(ids(socket).every((id) => id !== 'e2'));
});

test('a client that was too slow resumes at its cursor, and receives missed events as fast as it reads', async (t) => {
  const server = await start(t, { limits: { bufferedBytes: 200_000 } }, 10_000);
  const slow = await PeerSocket.enter(server.url, 'secret');
  await slow.request('subscribe', { events: 'all' });
  slow.webSocket.pause();
  for (let count = 0; count < 2_000; count += 1) server.emit('PeerAdded', 'a', { metadata: 'x'.repeat(8_000) });
  slow.webSocket.resume();
  assert.equal((await slow.closed).code, 4410);
  const seen = ids(slow).length;
  assert.ok(seen > 0 && seen < 2_000);
  const again = await PeerSocket.enter(server.url, 'secret');
  const { data } = await again.request('subscribe', { events: 'all', cursor: { [server.source]: seen } });
  assert.deepEqual(data?.incomplete, []);
  again.webSocket.pause();
  await turns();
  server.emit('RoomDeleted', 'a');
  again.webSocket.resume();
  await again.waitFor('roomEvent', ({ type }) => type === 'RoomDeleted');
  assert.deepEqual(
    [...ids(slow), ...ids(again)],
    Array.from({ length: 2_001 }, (_, at) => `e${at + 1}`),
  );
});
