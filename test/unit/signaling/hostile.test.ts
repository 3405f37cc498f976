// Hostile clients: the node keeps running and leaks nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { PeerSocket } from '../../kit/network/peer-socket.ts';
import { enteredServer, startSocketServer } from './socket-server.ts';

test('prototype names, NUL, paths and Unicode as methods and ids are answered with errors', async (t) => {
  const { socket } = await enteredServer(t, { rateLimit: () => undefined });
  const names = [
    '__proto__',
    'constructor',
    'hasOwnProperty',
    '..',
    '../../etc/passwd',
    'a/b',
    '\u0000',
    '\u202e\ud83d\ude00',
    'x'.repeat(64),
  ];
  for (const name of names) {
    const unknown = await socket.request(name);
    assert.equal(unknown.error?.code, 'bad_request', name);
    const missing = await socket.request('unpublish', { trackId: name });
    assert.match(missing.error?.code ?? '', /not_found$/, name);
  }
  socket.send('{"id":900,"method":"setPeerMetadata","data":{"__proto__":{"metadata":1}}}');
  assert.equal((await socket.answer(900)).ok, false);
  socket.send('{"id":901,"method":"setPeerMetadata","data":{"metadata":{"__proto__":{"polluted":true}}}}');
  assert.equal((await socket.answer(901)).ok, true);
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
});

test('a text frame with invalid UTF-8 is closed with 4400', async (t) => {
  const { socket } = await enteredServer(t);
  socket.webSocket.send(Buffer.from([0x22, 0xff, 0xfe, 0x22]), { binary: false });
  assert.deepEqual(await socket.closed, { code: 4400, reason: 'Malformed message' });
});

test('frames that violate the websocket protocol end the socket, not the session', async (t) => {
  const { server, socket } = await enteredServer(t);
  const raw = (socket.webSocket as unknown as { _socket: { write: (bytes: Buffer) => void } })._socket;
  // A frame without a mask (RFC 6455, section 5.1).
  raw.write(Buffer.from([0x81, 0x02, 0x7b, 0x7d]));
  assert.equal((await socket.closed).code, 1002);
  const next = await PeerSocket.enter(server.url, socket.token, { resume: socket.welcome.data?.sessionId, received: 0 });
  assert.equal(next.welcome.data?.resumed, true);
});

test('random frames affect only their own socket', async (t) => {
  const server = await startSocketServer(t, { rateLimit: () => undefined });
  const good = await server.enter('good');
  let state = 12_345;
  const random = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % below;
  };
  const values = [null, 0, -1, 1.5, '', 'x', [], {}, true, 1e308, [[]], { id: 1 }];
  const fields = ['trackId', 'transportId', 'metadata', 'mode', 'direction', 'kind', 'rtpParameters', 'to', 'label', 'payload', 'received'];
  const methods = [
    'join',
    'createTransport',
    'publish',
    'subscribe',
    'setSubscription',
    'setPriority',
    'sendData',
    'ping',
    'getStats',
    'publishData',
    'dataHeld',
    'dataReady',
    'dataFlowing',
    'nothing',
  ];
  const socket = await server.enter('bad');
  for (let id = 10; id < 500; id += 1) {
    const data = Object.fromEntries(
      Array.from({ length: random(4) }, () => [fields[random(fields.length)], values[random(values.length)]]),
    );
    socket.send({ id, method: methods[random(methods.length)], data });
  }
  socket.send({ id: 500, method: 'getStats', data: {} });
  assert.equal((await socket.answer(500)).ok, true);
  assert.equal((await good.request('ping')).ok, true);
  assert.deepEqual(server.types('bad'), ['PeerAdded', 'PeerConnected']);
});

test('300 sockets of every hostile type leak nothing', async (t) => {
  const server = await startSocketServer(t, { rateLimit: () => 10, limits: { authenticationTimeout: 2_000 } });
  const { token } = await server.addPeer('a');
  const good = await server.enter('good');
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  const floods = Array.from({ length: 300 }, async (_, index) => {
    const socket = await PeerSocket.open(server.url);
    if (index % 5 === 0) socket.send('x'.repeat(300 * 1024));
    if (index % 5 === 1) socket.send({ id: 1, method: 'authenticate', data: { token: 'x' } });
    if (index % 5 === 2) for (let count = 0; count < 100; count += 1) socket.post('authenticate', { token });
    if (index % 5 === 3) socket.webSocket.terminate();
    const { code } = await socket.closed;
    assert.ok([4413, 4401, 4429, 1006, 4408].includes(code), String(code));
  });
  await Promise.all(floods);
  const { promise, resolve } = Promise.withResolvers<void>();
  const check = setInterval(() => server.sockets.sockets <= 1 && resolve(), 10);
  await promise;
  clearInterval(check);
  assert.equal((await good.request('ping')).ok, true);
  assert.equal(good.webSocket.readyState, WebSocket.OPEN);
  // The peer whose token was flooded has one resumable session without a socket.
  assert.deepEqual([server.sockets.sockets, server.sockets.sessions <= 2, timers() <= before + 2], [1, true, true]);
});

test('100 peers that join and leave four times leak nothing', async (t) => {
  const server = await startSocketServer(t);
  const tokens = await Promise.all(Array.from({ length: 100 }, async (_, index) => (await server.addPeer(`p${index}`)).token));
  for (let round = 0; round < 4; round += 1) {
    const sockets = await Promise.all(tokens.map((token) => PeerSocket.enter(server.url, token)));
    assert.equal(server.sockets.sessions, 100);
    for (const socket of sockets) socket.post('leave');
    await Promise.all(sockets.map((socket) => socket.closed));
    assert.equal(server.sockets.sessions, 0);
  }
  assert.equal(server.media.room('room').peers.size, 0);
});
