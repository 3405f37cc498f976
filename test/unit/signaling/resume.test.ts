// Resuming a session after a lost socket: nothing is lost or repeated.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinPeer, makeRooms } from '../../kit/fakes/rooms.ts';
import { fieldsOf } from '../../kit/fields.ts';
import { PeerSocket } from '../../kit/network/peer-socket.ts';
import { assertPrompt, stopwatch } from '../../kit/promised-time.ts';
import { enteredServer, startSocketServer, type WelcomeData } from './socket-server.ts';

/** Counted frames: those after the response to authenticate. */
const received = (socket: PeerSocket) => socket.frames.length - 1;
const data = (socket: { welcome: { data?: Record<string, unknown> } }) => socket.welcome.data as WelcomeData;

test('a session continues on a new socket with missed frames first, then live events', async (t) => {
  const { server, socket: first } = await enteredServer(t);
  const transport = await first.request('createTransport', { direction: 'send' });
  await first.request('publish', { transportId: transport.data?.id, kind: 'audio', rtpParameters: {} });
  const count = received(first);
  await first.cut();
  for (const label of ['one', 'two']) await server.rooms.sendData('room', { label, payload: null });
  const second = await PeerSocket.enter(server.url, first.token, { resume: data(first).sessionId, received: count });
  await server.rooms.sendData('room', { label: 'three', payload: null });
  await second.waitFor('data', ({ label }) => label === 'three');
  assert.deepEqual([data(second).resumed, data(second).sessionId, data(second).lastRequest], [true, data(first).sessionId, 3]);
  assert.deepEqual(
    second.events().map((event) => event.data.label),
    ['one', 'two', 'three'],
  );
  assert.deepEqual(server.types('a'), ['PeerAdded', 'PeerConnected', 'TrackAdded']);
});

test('lost responses are sent again, and a repeated request is not executed again', async (t) => {
  const { server, socket: first } = await enteredServer(t);
  const transport = await first.request('createTransport', { direction: 'send' });
  const count = received(first);
  const publish = { transportId: transport.data?.id, kind: 'audio', rtpParameters: {} };
  const answer = await first.request('publish', publish, 3);
  await first.cut();
  // As if that response had been lost in transit.
  const second = await PeerSocket.open(server.url);
  second.send({ id: 5, method: 'authenticate', data: { token: first.token, resume: data(first).sessionId, received: count } });
  second.send({ id: 3, method: 'publish', data: publish });
  second.send({ id: 4, method: 'setPeerMetadata', data: { metadata: 'new' } });
  await second.answer(4);
  assert.deepEqual(fieldsOf(second.frames, 'id'), [5, 3, 4]);
  assert.deepEqual(await second.answer(3), answer);
  assert.equal(server.types('a').filter((type) => type === 'TrackAdded').length, 1);
});

test('a request in progress when the socket was lost is answered on the next one', async (t) => {
  const { server, socket: first } = await enteredServer(t);
  const { promise, resolve } = Promise.withResolvers<void>();
  const called = new Promise<void>((done) => {
    first.peer.session.media.restartIce = async () => {
      done();
      await promise;
      return { usernameFragment: 'u' };
    };
  });
  const slow = first.post('restartIce', { transportId: 't' });
  const next = first.post('setPeerMetadata', { metadata: 1 });
  await called;
  await first.cut();
  const second = await PeerSocket.enter(server.url, first.token, { resume: data(first).sessionId, received: 0 });
  assert.equal(data(second).lastRequest, next);
  resolve();
  assert.deepEqual((await second.answer(slow)).data, { iceParameters: { usernameFragment: 'u' } });
  assert.equal((await second.answer(next)).ok, true);
});

test('a resume replaces a half-open socket and closes it with 4409', async (t) => {
  const { server, socket: first } = await enteredServer(t);
  const second = await PeerSocket.enter(server.url, first.token, { resume: data(first).sessionId, received: 0 });
  assert.equal(data(second).resumed, true);
  assert.deepEqual(await first.closed, { code: 4409, reason: 'Taken over by a newer socket' });
  assert.equal((await second.request('ping')).ok, true);
  assert.deepEqual(server.types('a'), ['PeerAdded', 'PeerConnected']);
});

test('after the resume window the peer is disconnected, and a resume gets a fresh session', async (t) => {
  const { server, socket: first } = await enteredServer(t, { resumeWindow: () => 0.05 });
  await first.cut();
  await server.happened('PeerDisconnected', 'a');
  assert.equal(server.sockets.sessions, 0);
  const second = await PeerSocket.enter(server.url, first.token, { resume: data(first).sessionId, received: 0 });
  assert.equal(data(second).resumed, false);
  assert.notEqual(data(second).sessionId, data(first).sessionId);
});

test('a resume in time stops the window, and the peer stays connected after it', async (t) => {
  const { server, socket: first } = await enteredServer(t, { resumeWindow: () => 1.5 });
  await first.cut();
  const second = await PeerSocket.enter(server.url, first.token, { resume: data(first).sessionId, received: 0 });
  await new Promise((resolve) => setTimeout(resolve, 1_700));
  assert.equal((await second.request('ping')).ok, true);
  assert.deepEqual(server.types('a'), ['PeerAdded', 'PeerConnected']);
});

test('a socket that authenticates without resume replaces a session with a lost socket', async (t) => {
  const { server, socket: first } = await enteredServer(t);
  await first.close(1001);
  const second = await PeerSocket.enter(server.url, first.token);
  assert.equal(data(second).resumed, false);
  assert.deepEqual(server.types('a'), ['PeerAdded', 'PeerConnected', 'PeerDisconnected', 'PeerConnected']);
});

test('if more frames were missed than kept, a fresh session starts', async (t) => {
  const { server, socket: first } = await enteredServer(t, { limits: { unacknowledgedFrames: 3 } });
  await first.cut();
  for (const peerId of ['1', '2', '3', '4']) await server.enter(peerId);
  const second = await PeerSocket.enter(server.url, first.token, { resume: data(first).sessionId, received: 0 });
  assert.equal(data(second).resumed, false);
  assert.deepEqual(server.types('a'), ['PeerAdded', 'PeerConnected', 'PeerDisconnected', 'PeerConnected']);
});

test('missed messages beyond the limit do not end the session, and their number is reported', async (t) => {
  const { server, socket: first } = await enteredServer(t, { limits: { unacknowledgedFrames: 3 } });
  await first.cut();
  for (const label of ['1', '2', '3', '4', '5']) await server.rooms.sendData('room', { label, payload: null });
  const second = await PeerSocket.enter(server.url, first.token, { resume: data(first).sessionId, received: 0 });
  assert.equal(data(second).resumed, true);
  await second.waitFor('data', ({ label }) => label === '5');
  assert.deepEqual(
    second.events().map(({ event, data: { label, messages } }) => [event, label ?? messages]),
    [
      ['dataDropped', 1],
      ['dataDropped', 1],
      ['data', '3'],
      ['data', '4'],
      ['data', '5'],
    ],
  );
});

test('ping acknowledges frames, which are then deleted', async (t) => {
  const { server, socket: first } = await enteredServer(t, { limits: { unacknowledgedFrames: 3 } });
  for (const label of ['1', '2', '3']) await server.rooms.sendData('room', { label, payload: null });
  await first.waitFor('data', ({ label }) => label === '3');
  await first.request('ping', { received: received(first) });
  const count = received(first);
  await first.cut();
  for (const label of ['4', '5']) await server.rooms.sendData('room', { label, payload: null });
  const second = await PeerSocket.enter(server.url, first.token, { resume: data(first).sessionId, received: count });
  await second.waitFor('data', ({ label }) => label === '5');
  assert.equal(data(second).resumed, true);
  assert.equal(second.events('data').length, 2);
});

test('a resume with more frames than were sent starts a fresh session', async (t) => {
  const { server, socket: first } = await enteredServer(t);
  await first.cut();
  const second = await PeerSocket.enter(server.url, first.token, { resume: data(first).sessionId, received: 99 });
  assert.equal(data(second).resumed, false);
});

test('a session can be resumed only with a token of its peer', async (t) => {
  const { server, socket: first } = await enteredServer(t);
  const other = await server.addPeer('b');
  await first.cut();
  const thief = await PeerSocket.enter(server.url, other.token, { resume: data(first).sessionId, received: 0 });
  assert.deepEqual([thief.welcome.data?.peerId, data(thief).resumed], ['b', false]);
  const owner = await PeerSocket.enter(server.url, first.token, { resume: data(first).sessionId, received: 0 });
  assert.equal(data(owner).resumed, true);
});

test('a session that was taken over cannot be resumed', async (t) => {
  const { server, socket: first } = await enteredServer(t);
  const second = await PeerSocket.enter(server.url, first.token, { takeover: true });
  await first.closed;
  const third = await PeerSocket.enter(server.url, first.token, { resume: data(first).sessionId, received: 0 });
  assert.equal(third.welcome.error?.code, 'conflict');
  assert.equal((await second.request('ping')).ok, true);
});

test('a peer that was removed during a lost socket cannot return', async (t) => {
  const { server, socket: first } = await enteredServer(t);
  await first.cut();
  await server.rooms.deletePeer('room', 'a');
  const second = await PeerSocket.enter(server.url, first.token, { resume: data(first).sessionId, received: 0 });
  assert.equal(second.welcome.error?.code, 'peer_not_found');
  assert.equal(server.sockets.sessions, 0);
});

test('a session can be resumed many times', async (t) => {
  const { server, socket: first } = await enteredServer(t);
  let socket: PeerSocket = first;
  let seen = 0;
  for (let round = 0; round < 20; round += 1) {
    await socket.cut();
    await server.rooms.sendData('room', { label: String(round), payload: null });
    const next = await PeerSocket.enter(server.url, first.token, { resume: data(first).sessionId, received: seen });
    await next.waitFor('data', ({ label }) => label === String(round));
    assert.deepEqual([data(next).resumed, next.events('data').length], [true, 1]);
    seen += received(next);
    socket = next;
  }
  assert.deepEqual([server.sockets.sessions, server.types('a').length], [1, 2]);
});

test('a peer without a socket is removed after its timeout, counted from the loss of the socket', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { rooms, events, kinds } = makeRooms({ peerDisconnectedTimeout: 2 });
  await rooms.createRoom({ roomId: 'room' });
  const { peer } = await joinPeer(rooms, 'room', 'a');
  assert.deepEqual([peer.timeout.resumeWindow(10_000), peer.timeout.resumeWindow(1_000)], [2_000, 1_000]);
  assert.deepEqual([peer.timeout.resumeWindow(10_000, 500), peer.timeout.resumeWindow(10_000, 3_000)], [1_500, 0]);
  assert.deepEqual([peer.timeout.pongTimeout(60_000), peer.timeout.pongTimeout(500)], [1_000, 500]);
  peer.disconnect(2_000);
  t.mock.timers.tick(0);
  assert.deepEqual(kinds().slice(-2), ['PeerDisconnected:a', 'PeerDeleted:a']);
  assert.equal(events.at(-1)?.reason, 'timeout');
});

test('a peer whose socket was terminated is removed after its timeout, without the resume window in addition', async (t) => {
  const server = await startSocketServer(t, { resumeWindow: () => 3_600 });
  const { token } = await server.addPeer('a');
  await server.rooms.patchRoom('room', { peerDisconnectedTimeout: 1 });
  const socket = await PeerSocket.enter(server.url, token);
  assert.equal(data(socket).resumeWindow, 1);
  await socket.cut();
  await server.happened('PeerDeleted', 'a');
  assert.deepEqual(server.types('a').slice(-2), ['PeerDisconnected', 'PeerDeleted']);
});

test('an unresponsive socket is detected within the timeout of its peer, which is then removed', async (t) => {
  const server = await startSocketServer(t, { resumeWindow: () => 3_600 });
  const { token } = await server.addPeer('a');
  const lively = await server.enter('b');
  const silent = await PeerSocket.open(server.url, { autoPong: false });
  await silent.request('authenticate', { token });
  await server.rooms.patchRoom('room', { peerDisconnectedTimeout: 4 });
  const took = stopwatch();
  assert.equal((await silent.closed).code, 1006);
  assert.deepEqual(server.types('a').slice(-1), ['PeerConnected']);
  await server.happened('PeerDeleted', 'a');
  assertPrompt('the removal of an unresponsive peer', took(), { promised: 4_000 });
  assert.deepEqual(server.types('a').slice(-2), ['PeerDisconnected', 'PeerDeleted']);
  assert.equal((await lively.request('ping')).ok, true);
});
