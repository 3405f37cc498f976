// WebSocket acceptor: limits of bytes, time and origin before authentication.
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { fieldsOf } from '../../kit/fields.ts';
import { PeerSocket } from '../../kit/network/peer-socket.ts';
import { enteredServer, startSocketServer } from './socket-server.ts';

const upgradeStatus = (url: string, headers: Record<string, string> = {}) =>
  new Promise<{ status: number; body: string }>((resolve, reject) => {
    const webSocket = new WebSocket(url, { headers });
    webSocket.on('open', () => {
      webSocket.terminate();
      resolve({ status: 101, body: '' });
    });
    webSocket.on('error', reject);
    webSocket.on('unexpected-response', async (_request, response) => {
      let body = '';
      for await (const chunk of response) body += chunk;
      resolve({ status: response.statusCode ?? 0, body });
    });
  });

test('a silent socket is closed with 4408 in time', async (t) => {
  const server = await startSocketServer(t, { limits: { authenticationTimeout: 50 } });
  const socket = await PeerSocket.open(server.url);
  assert.deepEqual(await socket.closed, { code: 4408, reason: 'Authentication timeout' });
});

test('a first message of more than 8 KiB is closed with 4413', async (t) => {
  const server = await startSocketServer(t);
  const socket = await PeerSocket.open(server.url);
  socket.send({ id: 1, method: 'authenticate', data: { token: 'x'.repeat(8 * 1024) } });
  assert.deepEqual(await socket.closed, { code: 4413, reason: 'Message too large' });
});

test('an endless first message is closed with 4413 after 8 KiB', async (t) => {
  const server = await startSocketServer(t);
  const { port } = new URL(server.url);
  const raw = connect(Number(port), '127.0.0.1');
  const received: Buffer[] = [];
  const has4413 = new Promise<void>((resolve) => {
    raw.on('data', (chunk: Buffer) => {
      received.push(chunk);
      // A close frame (RFC 6455, section 5.5.1) with 4413, which is 0x113d, and its reason of 17 bytes.
      if (Buffer.concat(received).includes(Buffer.from([0x88, 0x13, 0x11, 0x3d]))) resolve();
    });
  });
  const head = ['GET /socket/peer/websocket HTTP/1.1', 'Host: x', 'Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13'];
  raw.write(`${head.join('\r\n')}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`);
  // Announces 500,000 bytes and sends 9,000 of them.
  raw.write(Buffer.concat([Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0x00, 0x07, 0xa1, 0x20, 0, 0, 0, 0]), Buffer.alloc(9_000, 0x20)]));
  await has4413;
  raw.destroy();
});

for (const [name, frame] of [
  ['a binary frame', Buffer.from('{"id":1,"method":"authenticate","data":{}}')],
  ['text that is no JSON', '{"id":1,'],
  ['text with NUL', '\u0000'],
  ['a list', '[1,2]'],
  ['a request without id', '{"method":"authenticate","data":{}}'],
  ['a request with a text as id', '{"id":"1","method":"authenticate","data":{}}'],
  ['a request without method', '{"id":1,"data":{}}'],
  ['a request with an unknown field', '{"id":1,"method":"authenticate","data":{},"x":1}'],
  ['JSON with nothing but nesting', '['.repeat(4_000)],
] as const) {
  test(`${name} as first message is closed with 4400`, async (t) => {
    const server = await startSocketServer(t);
    const socket = await PeerSocket.open(server.url);
    socket.send(frame);
    assert.deepEqual(await socket.closed, { code: 4400, reason: 'Malformed message' });
    assert.deepEqual(socket.frames, []);
  });
}

for (const [name, request, code] of [
  ['another method', { id: 7, method: 'join', data: { rtpCapabilities: {} } }, 'missing_token'],
  ['no token', { id: 7, method: 'authenticate', data: {} }, 'invalid_field'],
  ['a token of an unknown peer', { id: 7, method: 'authenticate', data: { token: 'x.y.z' } }, 'invalid_token'],
  [
    'a token in deep data',
    { id: 7, method: 'authenticate', data: { token: JSON.parse('['.repeat(500) + ']'.repeat(500)) } },
    'invalid_field',
  ],
] as const) {
  test(`${name} as first message is answered with ${code} and closed with 4401`, async (t) => {
    const server = await startSocketServer(t);
    const socket = await PeerSocket.open(server.url);
    socket.send(request);
    assert.deepEqual(await socket.closed, { code: 4401, reason: 'Not authenticated' });
    assert.equal(socket.frames.length, 1);
    const answer = await socket.answer(7).catch(() => socket.frames[0] as never);
    assert.equal(answer.ok, false);
    assert.equal(answer.error?.code, code);
    assert.match(answer.error?.message ?? '', /^[A-Z].{5,200}$/);
  });
}

test('a valid token of an unknown peer or room is answered with peer_not_found and closed with 4401', async (t) => {
  const server = await startSocketServer(t);
  const socket = await PeerSocket.open(server.url);
  const answer = await socket.request('authenticate', { token: await server.keys.sign({ roomId: 'none', peerId: 'p' }) });
  assert.equal(answer.error?.code, 'peer_not_found');
  assert.equal((await socket.closed).code, 4401);
});

test('an expired token is closed with 4401', async (t) => {
  const server = await startSocketServer(t);
  await server.addPeer('a');
  const socket = await PeerSocket.open(server.url);
  const answer = await socket.request('authenticate', { token: await server.keys.sign({ roomId: 'room', peerId: 'a' }, -1) });
  assert.equal(answer.error?.code, 'invalid_token');
  assert.equal((await socket.closed).code, 4401);
});

test('requests right after authenticate wait for it and are executed in order', async (t) => {
  const server = await startSocketServer(t);
  const { token } = await server.addPeer('a');
  const socket = await PeerSocket.open(server.url);
  socket.post('authenticate', { token });
  socket.post('createTransport', { direction: 'send' });
  socket.post('join', { rtpCapabilities: {} });
  const last = socket.post('getStats');
  await socket.answer(last);
  assert.deepEqual(fieldsOf(socket.frames, 'id', 'ok'), [
    [1, true],
    [2, true],
    [3, true],
    [4, true],
  ]);
});

test('too many requests after authenticate are closed with 4429', async (t) => {
  let verified = () => {};
  const waits = new Promise<void>((resolve) => {
    verified = resolve;
  });
  const server = await startSocketServer(t, { verifyToken: () => waits.then(() => undefined), limits: { earlyMessages: 4 } });
  const socket = await PeerSocket.open(server.url);
  for (let count = 0; count < 6; count += 1) socket.post('authenticate', { token: 'x' });
  assert.deepEqual(await socket.closed, { code: 4429, reason: 'Too many messages' });
  verified();
});

test('too many bytes after authenticate are closed with 4413', async (t) => {
  let verified = () => {};
  const waits = new Promise<void>((resolve) => {
    verified = resolve;
  });
  const server = await startSocketServer(t, { verifyToken: () => waits.then(() => undefined) });
  const socket = await PeerSocket.open(server.url);
  socket.post('authenticate', { token: 'x' });
  for (let count = 0; count < 3; count += 1) socket.post('sendData', { label: 'l', payload: 'x'.repeat(100_000) });
  assert.deepEqual(await socket.closed, { code: 4413, reason: 'Message too large' });
  verified();
});

test('above the limit of pending sockets the oldest is closed with 4408, and authenticated sockets stay open', async (t) => {
  const { server, socket: known } = await enteredServer(t, { limits: { unauthenticatedSockets: 2 } });
  const oldest = await PeerSocket.open(server.url);
  const second = await PeerSocket.open(server.url);
  const { token } = await server.addPeer('b');
  const newest = await PeerSocket.open(server.url);
  assert.deepEqual(await oldest.closed, { code: 4408, reason: 'Authentication timeout' });
  assert.equal((await newest.request('authenticate', { token })).ok, true);
  assert.deepEqual(
    [known, second, newest].map(({ webSocket }) => webSocket.readyState),
    [WebSocket.OPEN, WebSocket.OPEN, WebSocket.OPEN],
  );
});

test('pending sockets of one network do not evict those of another', async (t) => {
  const forwardedFor = ({ headers }: IncomingMessage) => String(headers['x-test-client']);
  const server = await startSocketServer(t, { limits: { unauthenticatedSockets: 4, unauthenticatedPerNetwork: 3 }, forwardedFor });
  const from = (client: string) => PeerSocket.open(server.url, { headers: { 'x-test-client': client } });
  const { token } = await server.addPeer('a');
  const person = await from('192.0.2.1');
  const crowd: PeerSocket[] = [];
  for (let count = 0; count < 8; count += 1) crowd.push(await from(`2001:db8::${count}`));
  for (const each of crowd.slice(0, 5)) assert.equal((await each.closed).code, 4408);
  assert.equal((await person.request('authenticate', { token })).ok, true);
});

test('a page of another origin is rejected with 403 if origins are checked, and clients without an origin are not', async (t) => {
  const server = await startSocketServer(t, { checkOrigin: () => 'same-host' });
  const { host } = new URL(server.url);
  const refused = await upgradeStatus(server.url, { origin: 'https://evil.example.com' });
  assert.equal(refused.status, 403);
  assert.equal(JSON.parse(refused.body).code, 'forbidden');
  assert.equal((await upgradeStatus(server.url, { origin: `http://${host}` })).status, 101);
  assert.equal((await upgradeStatus(server.url, { origin: 'https://media.example.com:5002' })).status, 101);
  assert.equal((await upgradeStatus(server.url)).status, 101);
});

test('after close() sockets are closed with 1001 and new ones rejected with 503', async (t) => {
  const server = await startSocketServer(t);
  const unknown = await PeerSocket.open(server.url);
  const known = await server.enter('a');
  await server.sockets.close();
  assert.deepEqual(await unknown.closed, { code: 1001, reason: 'Node going away: resume at another node' });
  assert.deepEqual(await known.closed, { code: 1001, reason: 'Node going away: resume at another node' });
  assert.equal((await upgradeStatus(server.url)).status, 503);
  assert.deepEqual([server.sockets.sockets, server.sockets.sessions, known.peer.connected], [0, 0, false]);
});
