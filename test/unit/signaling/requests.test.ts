// Requests after authentication: every method, every response, and limits that close a socket.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Method, requestSchemas, responseSchemas } from '../../../api/socket/peer.ts';
import { eventually } from '../../kit/eventually.ts';
import { PeerSocket } from '../../kit/network/peer-socket.ts';
import { stopwatch } from '../../kit/promised-time.ts';
import { enteredServer, type SocketServer, startSocketServer } from './socket-server.ts';

test('every method has its effect and a response that matches its schema', async (t) => {
  const server = await startSocketServer(t, { rateLimit: () => undefined });
  const publisher = await server.enter('publisher');
  const socket = await server.enter('a');
  // First requests of a socket: authenticate in enter(), checkConnection in another file.
  const asked = new Set<Method>(['authenticate', 'checkConnection']);
  const ask = async (method: Method, data: Record<string, unknown> = {}, from: PeerSocket = socket) => {
    const answer = await from.request(method, data);
    assert.deepEqual([method, answer.error], [method, undefined]);
    asked.add(method);
    return responseSchemas[method].parse(answer.data) as Record<string, unknown>;
  };
  const publish = async (from: PeerSocket) => {
    const transport = await ask('createTransport', { direction: 'send', sctp: true }, from);
    const { trackId } = await ask(
      'publish',
      { transportId: transport.id, kind: 'video', rtpParameters: {}, metadata: { source: 'camera' }, key: 'k' },
      from,
    );
    return { trackId };
  };
  const { trackId } = await publish(publisher);
  await ask('join', { rtpCapabilities: {}, metadata: { name: 'A' } });
  const recv = await ask('createTransport', { direction: 'recv', sctp: true });
  await ask('connectTransport', { transportId: recv.id, dtlsParameters: {} });
  await ask('restartIce', { transportId: recv.id });
  assert.deepEqual((await socket.waitFor('trackSubscribed')).trackId, trackId);
  await ask('trackReady', { trackId });
  await ask('tracksReady', { trackIds: [trackId, 'gone'] });
  await ask('setPreferredLayers', { trackId, spatialLayer: 1 });
  await ask('setPriority', { trackId, priority: 200 });
  await ask('setSubscription', { mode: 'manual' });
  await ask('unsubscribe', { trackId });
  await ask('subscribe', { trackId });
  const own = await publish(socket);
  await ask('pauseTrack', own);
  await ask('resumeTrack', own);
  await ask('setTrackMetadata', { ...own, metadata: { source: 'screen' } });
  await ask('unpublish', own);
  await ask('setPeerMetadata', { metadata: { name: 'B' } });
  await ask('setAttributes', { attributes: { hand: 'up' } });
  server.rooms.room('room').peers.get('a').rights.change({ roomMetadata: true });
  await ask('setRoomMetadata', { metadata: { topic: 'plans' } });
  assert.deepEqual((await publisher.waitFor('roomMetadataUpdated')).metadata, { topic: 'plans' });
  const send = await ask('createTransport', { direction: 'send', sctp: true });
  const channel = await ask('publishData', { transportId: send.id, sctpStreamParameters: { streamId: 0 }, label: 'chat' });
  const { dataTrackId } = channel;
  await ask('dataHeld', { dataTrackId, messages: 1 });
  for (const method of ['dataReady', 'dataFlowing'] as const) await ask(method, { dataTrackId, channel: 0 });
  await ask('unpublishData', channel);
  await ask('sendData', { label: 'chat', payload: { text: 'hi' } });
  assert.deepEqual(await publisher.waitFor('data'), { from: 'a', label: 'chat', payload: { text: 'hi' } });
  await ask('setAudioLevels', { enabled: true });
  server.media.room('room').options.onAudioLevels([{ peerId: 'publisher', level: -30 }]);
  assert.deepEqual((await socket.waitFor('audioLevels')).levels, [{ peerId: 'publisher', level: -30 }]);
  await ask('setFeatures', { features: ['migrate', 'paths', 'one of later'] });
  const moved = server.rooms.room('room').peers.get('a').session.paths.move(undefined);
  await ask('tracksFlowing', { trackIds: [trackId] });
  await ask('usePath', await socket.waitFor('migrate').then(({ path }) => ({ path })));
  await moved;
  await ask('sendRpc', { rpcId: '1', to: 'publisher', method: 'dance', payload: null, timeout: 5 });
  const { rpcId } = await publisher.waitFor('rpcRequested');
  assert.equal((await publisher.request('respondRpc', { rpcId, payload: 'done' })).ok, true);
  assert.deepEqual(await socket.waitFor('rpcResponded'), { rpcId: '1', payload: 'done' });
  void server.rooms
    .room('room')
    .rpcs.request(null, socket.peer, { method: 'stop', payload: null, timeout: 5 })
    .catch(() => {});
  await ask('respondRpc', { rpcId: (await socket.waitFor('rpcRequested')).rpcId });
  await ask('getStats');
  await ask('ping', { received: 3 });
  await ask('leave');
  assert.deepEqual([...asked].sort(), Object.keys(requestSchemas).sort());
});

for (const [name, method, data, message] of [
  ['an unknown method', 'fly', {}, 'Unknown method: "fly"'],
  ['a method of every object', 'toString', {}, 'Unknown method: "toString"'],
  ['a missing field', 'trackReady', {}, 'Required field trackId is missing'],
  ['a field of the wrong type', 'trackReady', { trackId: 5 }, 'Expected trackId to be a string, got: 5'],
  ['an unknown field', 'leave', { now: true }, 'Unknown field now'],
  ['a value outside the enum', 'setSubscription', { mode: 'all' }, 'Expected mode to be one of auto, manual, got: "all"'],
  ['a number out of range', 'setPriority', { trackId: 't', priority: 256 }, 'Expected priority to be at most 255, got: 256'],
  [
    'a text that is too long',
    'unsubscribe',
    { trackId: 'x'.repeat(129) },
    `Expected trackId to have at most 128 characters, got: "${'x'.repeat(99)}…`,
  ],
  [
    'metadata that is too large',
    'setPeerMetadata',
    { metadata: 'x'.repeat(17_000) },
    `metadata may be at most 16384 bytes of JSON, got: "${'x'.repeat(99)}…`,
  ],
  ['a bad ping', 'ping', { received: -1 }, 'Expected received to be at least 0, got: -1'],
] as const) {
  test(`${name} is answered with one error message, and the socket stays open`, async (t) => {
    const { socket } = await enteredServer(t);
    const answer = await socket.request(method, data);
    assert.equal(answer.ok, false);
    assert.equal(answer.error?.message, message);
    assert.match(answer.error?.code ?? '', /^(bad_request|invalid_field)$/);
    assert.equal((await socket.request('ping')).ok, true);
  });
}

test('data that is too deep is answered with one error message at any depth, and the socket stays open', async (t) => {
  const { socket } = await enteredServer(t);
  for (const [id, depth] of [
    [10, 65],
    [11, 9_000],
    [12, 120_000],
  ] as const) {
    socket.send(`{"id":${id},"method":"setPeerMetadata","data":{"metadata":${'['.repeat(depth)}${']'.repeat(depth)}}}`);
    assert.deepEqual((await socket.answer(id)).error, {
      code: 'bad_request',
      message: 'Expected data to be nested at most 64 levels deep',
    });
  }
  assert.equal((await socket.request('setPeerMetadata', { metadata: [[[1]]] }, 13)).ok, true);
});

test('an error of the domain is returned with its code', async (t) => {
  const { socket } = await enteredServer(t);
  assert.equal((await socket.request('unpublish', { trackId: 'none' })).error?.code, 'track_not_found');
  assert.equal((await socket.request('connectTransport', { transportId: 'none', dtlsParameters: {} })).error?.code, 'not_found');
});

test('a second authenticate is answered with conflict', async (t) => {
  const { socket } = await enteredServer(t);
  assert.equal((await socket.request('authenticate', { token: socket.token })).error?.code, 'conflict');
});

test('an id that does not increase is answered with an error and its request not executed', async (t) => {
  const { socket } = await enteredServer(t);
  await socket.request('ping', {}, 9);
  const answer = await socket.request('setPeerMetadata', { metadata: 1 }, 9);
  assert.deepEqual(answer.error, { code: 'bad_request', message: 'Expected id to be greater than 9, got: 9' });
  assert.equal(socket.peer.view().metadata, null);
});

test('a request without data has empty data', async (t) => {
  const { socket } = await enteredServer(t);
  socket.send({ id: 5, method: 'ping' });
  assert.deepEqual(await socket.answer(5), { id: 5, ok: true, data: {} });
});

test('ping is answered immediately, even during a slow request', async (t) => {
  const { socket } = await enteredServer(t);
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.peer.session.media.restartIce = async () => {
    await promise;
    return {};
  };
  const slow = socket.post('restartIce', { transportId: 't' });
  assert.equal((await socket.request('ping')).ok, true);
  resolve();
  assert.equal((await socket.answer(slow)).ok, true);
});

test('a message of 300 KiB is closed with 4413, one of 2 MiB with 1009', async (t) => {
  const { server, socket: first } = await enteredServer(t);
  first.post('sendData', { label: 'l', payload: 'x'.repeat(300 * 1024) });
  assert.deepEqual(await first.closed, { code: 4413, reason: 'Message too large' });
  const second = await server.enter('b');
  second.post('sendData', { label: 'l', payload: 'x'.repeat(2 * 1024 * 1024) });
  assert.equal((await second.closed).code, 1009);
});

test('a payload of 16 KiB is sent and one more byte rejected, and the socket stays open', async (t) => {
  const { server, socket } = await enteredServer(t);
  const other = await server.enter('b');
  const largest = 16 * 1024 - 2;
  assert.equal((await socket.request('sendData', { label: 'l', payload: 'x'.repeat(largest) })).ok, true);
  const { payload } = await other.waitFor('data');
  assert.equal((payload as string).length, largest);
  for (const length of [largest + 1, 255 * 1024]) {
    const { error } = await socket.request('sendData', { label: 'l', payload: 'x'.repeat(length) });
    assert.deepEqual(error, { code: 'too_large', message: `Expected payload to have at most 16384 bytes of JSON, got: ${length + 2}` });
  }
  assert.equal((await socket.request('ping')).ok, true);
});

test('a large message counts as several toward the rate limit', async (t) => {
  // As in the next test: twenty at once.
  const { socket } = await enteredServer(t, { rateLimit: () => 1 / 60, limits: { burst: 1200 } });
  socket.post('sendData', { label: 'l', payload: 'x'.repeat(200 * 1024) });
  socket.post('ping');
  assert.deepEqual(await socket.closed, { code: 4429, reason: 'Too many messages' });
});

test('a peer above its data rate is rejected without effect on other peers', async (t) => {
  // The budget grows with the time that the requests take.
  const now = performance.now();
  t.mock.method(performance, 'now', () => now);
  const server = await startSocketServer(t, { rateLimit: () => null });
  const [flooder, other, listener] = [await server.enter('a'), await server.enter('b'), await server.enter('c')];
  const payload = 'x'.repeat(16_000);
  const answers = await Promise.all(Array.from({ length: 200 }, () => flooder.request('sendData', { label: 'flood', payload })));
  const refused = answers.filter(({ ok }) => !ok);
  assert.equal(answers.length - refused.length, 65, 'a burst of four seconds with 16 messages of 16 KiB each is allowed');
  for (const { error } of refused) assert.deepEqual(error, { code: 'too_many_requests', message: 'This peer exceeds its data rate limit' });
  assert.equal((await other.request('sendData', { label: 'talk', payload: 1 })).ok, true);
  await listener.waitFor('data', ({ from }) => from === 'b');
});

test('expensive requests wait, and none is rejected', async (t) => {
  const { socket } = await enteredServer(t, { rateLimit: () => 1_000_000, limits: { workRate: 1_000, burst: 0.06 } });
  const elapsed = stopwatch();
  const answers = await Promise.all(Array.from({ length: 30 }, () => socket.request('getStats')));
  assert.ok(answers.every(({ ok }) => ok));
  // 300 units at 1,000 per second, 60 of them at once.
  assert.ok(elapsed() >= 200, 'they waited');
});

test('a receiver that does not read loses messages, receives their number, and keeps its session', async (t) => {
  const server = await startSocketServer(t, { rateLimit: () => null, limits: { dataBufferedBytes: 64 * 1024 } });
  const slow = await server.enter('slow');
  const payload = 'x'.repeat(60_000);
  slow.webSocket.pause();
  // Fills the buffers of the network first.
  for (let sent = 0; sent < 400; sent += 1) await server.rooms.sendData('room', { label: 'l', payload });
  slow.webSocket.resume();
  const { messages } = await slow.waitFor('dataDropped');
  assert.equal((messages as number) + slow.events('data').length, 400);
  assert.equal((await slow.request('ping')).ok, true);
  assert.equal(server.sockets.sessions, 1);
});

for (const [name, frame] of [
  ['a binary frame', Buffer.from('{"id":1,"method":"ping"}')],
  ['text that is no JSON', 'hello'],
  ['a request without id', '{"method":"ping"}'],
] as const) {
  test(`${name} after authentication is closed with 4400, and the session can be resumed`, async (t) => {
    const { server, socket } = await enteredServer(t);
    socket.send(frame);
    assert.deepEqual(await socket.closed, { code: 4400, reason: 'Malformed message' });
    const next = await PeerSocket.enter(server.url, socket.token, { resume: socket.welcome.data?.sessionId, received: 0 });
    assert.equal(next.welcome.data?.resumed, true);
  });
}

test('messages above the rate and burst are closed with 4429, and a new socket does not help', async (t) => {
  // Eight at once and the next one a minute later, because a loaded host may need a second between two.
  const { server, socket } = await enteredServer(t, { rateLimit: () => 1 / 60, limits: { burst: 480 } });
  for (let count = 0; count < 12; count += 1) socket.post('ping');
  assert.deepEqual(await socket.closed, { code: 4429, reason: 'Too many messages' });
  assert.equal(socket.frames.length, 1 + 8);
  const next = await PeerSocket.enter(server.url, socket.token, { resume: socket.welcome.data?.sessionId, received: 8 });
  assert.equal(next.welcome.data?.resumed, true);
  for (let count = 0; count < 4; count += 1) next.post('ping');
  assert.equal((await next.closed).code, 4429);
});

for (const together of [false, true]) {
  test(`a room of 500 peers with two tracks each is joined at the default limits, ready ${together ? 'in one message' : 'track by track'}`, async (t) => {
    const server = await startSocketServer(t);
    const socket = await server.enter('newcomer');
    await fillRoom(server, 499);
    if (together) await socket.request('setFeatures', { features: ['tracksSubscribed'] });
    const before = socket.frames.length;
    const join = socket.request('join', { rtpCapabilities: {} });
    await socket.request('createTransport', { direction: 'recv' });
    await join;
    const announced = () => {
      if (!together) return socket.events('trackSubscribed').map(({ data }) => data);
      return socket.events('tracksSubscribed').flatMap(({ data }) => data.tracks as Record<string, unknown>[]);
    };
    await eventually('all tracks', () => announced().length === 998);
    // Two responses and one event.
    if (together) assert.equal(socket.frames.length - before, 3);
    const trackIds = announced().map(({ trackId }) => String(trackId));
    if (together) await socket.request('tracksReady', { trackIds });
    else for (const trackId of trackIds) socket.post('trackReady', { trackId });
    for (const trackId of trackIds) {
      socket.post('setPreferredLayers', { trackId, spatialLayer: 1 });
      socket.post('setPriority', { trackId, priority: 2 });
    }
    assert.equal((await socket.request('getStats')).ok, true);
    const media = [...(server.media.rooms.get('room')?.peers ?? [])].find(({ peerId }) => peerId === 'newcomer');
    const received = [...(media?.subscribed.values() ?? [])];
    assert.equal(received.filter(({ paused, layers, priority }) => !paused && layers?.spatialLayer === 1 && priority === 2).length, 998);
    assert.ok(socket.frames.every((frame) => frame.ok !== false));
  });
}

test('the number of free responses is limited by the number of offers', async (t) => {
  const { server, socket } = await enteredServer(t, { rateLimit: () => 1 / 60, limits: { burst: 480 } });
  await fillRoom(server, 1);
  socket.post('join', { rtpCapabilities: {} });
  await socket.request('createTransport', { direction: 'recv' });
  await eventually('both tracks', () => socket.events('trackSubscribed').length === 2);
  // Six of eight are left, and two tracks were offered.
  for (let count = 0; count < 12; count += 1) assert.equal((await socket.request('trackReady', { trackId: 'any' })).ok, false);
  socket.post('trackReady', { trackId: 'any' });
  assert.deepEqual(await socket.closed, { code: 4429, reason: 'Too many messages' });
});

test('more queued requests than allowed are closed with 4429', async (t) => {
  const { socket } = await enteredServer(t, { rateLimit: () => undefined, limits: { waitingRequests: 3 } });
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.peer.session.media.restartIce = async () => {
    await promise;
    return {};
  };
  for (let count = 0; count < 5; count += 1) socket.post('restartIce', { transportId: 't' });
  assert.deepEqual(await socket.closed, { code: 4429, reason: 'Too many messages' });
  resolve();
});

test('a client that does not read is closed before its frames exhaust the memory', async (t) => {
  const { server, socket } = await enteredServer(t, { limits: { bufferedBytes: 1024 * 1024 } });
  socket.webSocket.pause();
  let sent = 0;
  const send = async () => {
    assert.ok(sent < 400, 'the system buffers less than that');
    sent += 1;
    await server.rooms.sendData('room', { label: 'l', payload: 'x'.repeat(60_000) });
    return server.sockets.sockets === 0;
  };
  await eventually('a close', send, { every: 2 });
  assert.equal(server.sockets.sessions, 1);
  socket.webSocket.terminate();
});

/** Adds peers that each publish audio and video. */
async function fillRoom(server: SocketServer, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const { peer } = await server.addPeer(`p${index}`);
    peer.connect({ send: () => {}, pongTimeoutChanged: () => {}, close: () => {} });
    const { id } = await peer.session.createTransport('send', { sctp: false });
    for (const kind of ['audio', 'video'] as const)
      await peer.session.publications.publish({ transportId: String(id), kind, rtpParameters: {}, metadata: null, paused: false });
  }
}
