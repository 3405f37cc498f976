// Peer websocket proxy: a websocket at a node without its room, with real sockets of two nodes in one process.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type WebSocket, WebSocketServer } from 'ws';
import { proxiedHeader } from '../../../../api/node.ts';
import { peerSocketPath } from '../../../../api/peer.ts';
import { NodeTokens } from '../../../../node/cluster/proxy/node-tokens.ts';
import { PeerSocketProxy, type ProxyTarget } from '../../../../node/cluster/proxy/peer-socket-proxy.ts';
import type { ProxiedSocket } from '../../../../node/rooms/proxied-socket.ts';
import { PeerTokens } from '../../../../node/rooms/tokens/peer-tokens.ts';
import type { PeerSocketsOptions } from '../../../../node/signaling/peer-sockets.ts';
import { emits, eventually } from '../../../kit/eventually.ts';
import { fieldsOf } from '../../../kit/fields.ts';
import { listen } from '../../../kit/network/listen.ts';
import { PeerSocket } from '../../../kit/network/peer-socket.ts';
import { keepDoing } from '../../../kit/pace.ts';
import { silentLog } from '../../../kit/silent-log.ts';
import { startSocketServer, type WelcomeData } from '../../signaling/socket-server.ts';

const secret = 'a secret of the tests';
const tokensOf = (self: string, secrets = [secret]) => new NodeTokens({ links: { self, cast: () => {} }, secrets, cookie: 'unused' });

type Options = { proxy?: PeerSocketProxy } & Partial<PeerSocketsOptions>;

/** A node with rooms, which trusts client addresses from nodes of the cluster. */
async function startNode(t: TestContext, name: string, options: Options = {}) {
  const tokens = tokensOf(name);
  const upgrades: IncomingMessage[] = [];
  const callers: (string | undefined)[] = [];
  const { proxy, ...others } = options;
  const server = await startSocketServer(t, {
    ...(proxy && { forward: (roomId: string, socket: ProxiedSocket) => proxy.forward(roomId, socket) }),
    forwardedFor: (request) => {
      upgrades.push(request);
      const client = tokens.verify(request.headers[proxiedHeader], peerSocketPath)?.client;
      callers.push(client);
      return client;
    },
    ...others,
  });
  const raw = new Set<Socket>();
  server.server.on('connection', (socket: Socket) => raw.add(socket));
  const target: ProxyTarget = { name, internalAddress: new URL(server.url).host, address: 'media.example.com:5002/rooms', tls: false };
  return { ...server, target, upgrades, callers, raw };
}

function makeProxy(t: TestContext, locate: () => ProxyTarget | undefined, secrets?: string[]): PeerSocketProxy {
  const proxy = new PeerSocketProxy({ log: silentLog(), tokens: tokensOf('svc@wrong', secrets), locate });
  t.after(() => proxy.close());
  return proxy;
}

/** `owner` has the rooms, clients connect to `wrong`. */
async function startPair(t: TestContext) {
  const owner = await startNode(t, 'svc@owner');
  const proxy = makeProxy(t, () => owner.target);
  const wrong = await startNode(t, 'svc@wrong', { proxy });
  return { owner, wrong, proxy };
}

test('a session through the proxy works like a direct one', async (t) => {
  const { owner, wrong, proxy } = await startPair(t);
  const { token, peer } = await owner.addPeer('alice');
  const socket = await PeerSocket.enter(wrong.url, token);
  assert.equal(socket.welcome.data?.peerId, 'alice');
  assert.equal((await socket.request('join', { rtpCapabilities: {} })).ok, true);
  const bob = await owner.enter('bob');
  await bob.request('join', { rtpCapabilities: {} });
  await socket.waitFor('peerJoined');
  await bob.request('sendData', { label: 'l', payload: { text: 'grüße 🎥' } });
  assert.deepEqual((await socket.waitFor('data')).payload, { text: 'grüße 🎥' });
  for (let count = 0; count < 100; count += 1) socket.post('getStats');
  assert.equal((await socket.request('ping')).ok, true);
  assert.equal(proxy.size, 1);
  assert.equal(peer.remoteView().id, 'alice');
});

test('requests sent right after authenticate arrive after it', async (t) => {
  const { owner, wrong } = await startPair(t);
  const { token } = await owner.addPeer('alice');
  const socket = await PeerSocket.open(wrong.url);
  socket.post('authenticate', { token });
  socket.post('join', { rtpCapabilities: {} });
  const last = socket.post('createTransport', { direction: 'send' });
  assert.equal((await socket.answer(last)).ok, true);
  assert.deepEqual(
    fieldsOf(
      socket.frames.filter((frame) => 'id' in frame),
      'id',
    ),
    [1, 2, 3],
  );
});

test('close codes and reasons of the owner are passed on', async (t) => {
  const { owner, wrong, proxy } = await startPair(t);
  const enter = async (name: string, roomId?: string) => PeerSocket.enter(wrong.url, (await owner.addPeer(name, roomId)).token);
  const [removed, taken, stopped, crashed, left] = [
    await enter('removed'),
    await enter('taken'),
    await enter('stopped', 'other'),
    await enter('crashed'),
    await enter('left'),
  ];
  await owner.rooms.deletePeer('room', 'removed');
  assert.deepEqual(await removed.closed, { code: 1000, reason: 'Peer removed' });
  await PeerSocket.enter(owner.url, await owner.keys.sign({ roomId: 'room', peerId: 'taken' }), { takeover: true });
  assert.deepEqual(await taken.closed, { code: 4409, reason: 'Taken over by a newer socket' });
  await owner.rooms.deleteRoom('other');
  assert.deepEqual(await stopped.closed, { code: 1000, reason: 'Room stopped' });
  owner.rooms.findPeer('room', 'crashed')?.crash('by the test');
  assert.deepEqual(await crashed.closed, { code: 1011, reason: 'Internal server error' });
  await left.request('leave');
  assert.deepEqual(await left.closed, { code: 1000, reason: 'Peer left' });
  await owner.happened('PeerDisconnected', 'left');
  await eventually('no socket is proxied', () => proxy.size === 0);
});

test('close codes of the client reach the owner: 1000 ends the session, others may be resumed', async (t) => {
  const { owner, wrong } = await startPair(t);
  const alice = await owner.addPeer('alice');
  await (await PeerSocket.enter(wrong.url, alice.token)).close(1000);
  await owner.happened('PeerDisconnected', 'alice');
  const bob = await owner.addPeer('bob');
  const lost = await PeerSocket.enter(wrong.url, bob.token);
  await lost.cut();
  const { sessionId } = lost.welcome.data as WelcomeData;
  const resumed = await PeerSocket.enter(wrong.url, bob.token, { resume: sessionId, received: 0 });
  assert.equal((resumed.welcome.data as WelcomeData).resumed, true);
  assert.deepEqual(
    owner.types('bob').filter((type) => type === 'PeerDisconnected'),
    [],
  );
});

test('a lost owner closes the client with 1001: killed, reported down, or unreachable', async (t) => {
  const { owner, wrong, proxy } = await startPair(t);
  const { token } = await owner.addPeer('alice');
  const first = await PeerSocket.enter(wrong.url, token);
  for (const socket of owner.raw) socket.destroy();
  assert.deepEqual(await first.closed, { code: 1001, reason: 'Node going away: resume at another node' });
  const { sessionId } = first.welcome.data as WelcomeData;
  const second = await PeerSocket.enter(wrong.url, token, { resume: sessionId, received: 0 });
  assert.equal((second.welcome.data as WelcomeData).resumed, true);
  proxy.nodeDown('svc@another');
  assert.equal((await second.request('ping')).ok, true);
  proxy.nodeDown('svc@owner');
  assert.deepEqual(await second.closed, { code: 1001, reason: 'Node going away: resume at another node' });
  owner.target.internalAddress = '127.0.0.1:1';
  const third = await PeerSocket.open(wrong.url);
  third.post('authenticate', { token });
  assert.deepEqual(await third.closed, { code: 1001, reason: 'Node going away: resume at another node' });
});

test('an owner that accepts the connection and sends nothing times out', { timeout: 20_000 }, async (t) => {
  const { owner, wrong } = await startPair(t);
  const { token } = await owner.addPeer('alice');
  owner.target.internalAddress = `127.0.0.1:${await listen(t, createTcpServer())}`;
  const socket = await PeerSocket.open(wrong.url);
  socket.post('authenticate', { token });
  assert.deepEqual(await socket.closed, { code: 1001, reason: 'Node going away: resume at another node' });
});

test('a proxy that shuts down closes with 1001, and the session is resumed at the owner', async (t) => {
  const { owner, wrong, proxy } = await startPair(t);
  const alice = await owner.addPeer('alice');
  const bob = await owner.addPeer('bob');
  const byProxy = await PeerSocket.enter(wrong.url, alice.token);
  await proxy.close();
  assert.deepEqual([await byProxy.closed, proxy.size], [{ code: 1001, reason: 'Node going away: resume at another node' }, 0]);
  const again = makeProxy(t, () => owner.target);
  const other = await startNode(t, 'svc@other', { proxy: again });
  const bySockets = await PeerSocket.enter(other.url, bob.token);
  await other.sockets.close();
  assert.deepEqual(await bySockets.closed, { code: 1001, reason: 'Node going away: resume at another node' });
  for (const [socket, { token }] of [
    [byProxy, alice],
    [bySockets, bob],
  ] as const) {
    const { sessionId } = socket.welcome.data as WelcomeData;
    const resumed = await PeerSocket.enter(owner.url, token, { resume: sessionId, received: 0 });
    assert.equal((resumed.welcome.data as WelcomeData).resumed, true);
  }
  const late = await PeerSocket.enter(wrong.url, alice.token);
  assert.equal(late.welcome.error?.code, 'peer_not_found');
});

test('if nodes disagree about the owner, a socket is proxied once and then rejected with peer not found', async (t) => {
  const targets: ProxyTarget[] = [];
  const one = await startNode(t, 'svc@one', { proxy: makeProxy(t, () => targets[1]) });
  const two = await startNode(t, 'svc@two', { proxy: makeProxy(t, () => targets[0]) });
  targets.push(one.target, two.target);
  const token = await one.keys.sign({ roomId: 'nowhere', peerId: 'unknown' });
  const socket = await PeerSocket.enter(one.url, token);
  assert.equal(socket.welcome.error?.code, 'peer_not_found');
  assert.deepEqual(await socket.closed, { code: 4401, reason: 'Not authenticated' });
  assert.deepEqual([one.upgrades.length, two.upgrades.length], [1, 1]);
});

test('a room without another owner and an invalid token are rejected at this node', async (t) => {
  let asked = 0;
  const proxy = makeProxy(t, () => {
    asked += 1;
    return undefined;
  });
  const node = await startNode(t, 'svc@one', { proxy });
  const unknown = await PeerSocket.enter(node.url, await node.keys.sign({ roomId: 'r', peerId: 'p' }));
  assert.deepEqual([unknown.welcome.error?.code, (await unknown.closed).code], ['peer_not_found', 4401]);
  const forged = await PeerSocket.enter(node.url, await new PeerTokens(['another']).sign({ roomId: 'r', peerId: 'p' }));
  // The owner may have another secret, so it is searched for even with an invalid token.
  assert.deepEqual([forged.welcome.error?.code, asked], ['invalid_token', 2]);
});

test('the owner sees the address of the client, and accepts it only from nodes', async (t) => {
  const { owner, wrong } = await startPair(t);
  const { token } = await owner.addPeer('alice');
  const socket = await PeerSocket.enter(wrong.url, token);
  await socket.close(1000);
  const untrusted = tokensOf('svc@wrong', ['another secret']).sign({ client: '203.0.113.9', path: peerSocketPath });
  const elsewhere = tokensOf('svc@wrong').sign({ client: '203.0.113.9', path: '/hls/room/file' });
  for (const header of ['203.0.113.9', untrusted, elsewhere]) {
    await owner.happened('PeerDisconnected', 'alice', owner.types('alice').filter((type) => type === 'PeerConnected').length);
    const forged = await PeerSocket.open(owner.url, { headers: { [proxiedHeader]: header } });
    assert.equal((await forged.request('authenticate', { token })).ok, true);
    await forged.close(1000);
  }
  assert.deepEqual(owner.callers, ['127.0.0.1', undefined, undefined, undefined]);
});

test('frames above the limits close the client with the same codes as at the owner', async (t) => {
  const { owner, wrong } = await startPair(t);
  const large = await PeerSocket.enter(wrong.url, (await owner.addPeer('large')).token);
  large.send(JSON.stringify({ id: 9, method: 'ping', data: { x: 'x'.repeat(300 * 1024) } }));
  assert.deepEqual(await large.closed, { code: 4413, reason: 'Message too large' });
  const binary = await PeerSocket.enter(wrong.url, (await owner.addPeer('binary')).token);
  binary.send(Buffer.from([1]));
  assert.deepEqual(await binary.closed, { code: 4400, reason: 'Malformed message' });
  const fast = await PeerSocket.enter(wrong.url, (await owner.addPeer('fast')).token);
  for (let count = 0; count < 400; count += 1) fast.post('ping');
  assert.deepEqual(await fast.closed, { code: 4429, reason: 'Too many messages' });
});

test('pings pass through to the client, and the owner closes only the socket of an unresponsive client', async (t) => {
  const owner = await startNode(t, 'svc@owner', { limits: { pongTimeout: 1_500, minPongTimeout: 0 } });
  const wrong = await startNode(t, 'svc@wrong', { proxy: makeProxy(t, () => owner.target) });
  const { token } = await owner.addPeer('alice');
  const lively = await PeerSocket.enter(wrong.url, (await owner.addPeer('bob')).token);
  const silent = await PeerSocket.open(wrong.url, { autoPong: false });
  const { data } = await silent.request('authenticate', { token });
  assert.deepEqual(await silent.closed, { code: 1001, reason: 'Node going away: resume at another node' });
  assert.equal((await lively.request('ping')).ok, true);
  const resumed = await PeerSocket.enter(wrong.url, token, { resume: data?.sessionId, received: 0 });
  assert.equal((resumed.welcome.data as WelcomeData).resumed, true);
});

/** A fake owner whose behavior the test controls. */
async function startStub(t: TestContext) {
  const server = createServer();
  const sockets = new WebSocketServer({ server, maxPayload: 64 * 1024 * 1024 });
  const connected = Promise.withResolvers<WebSocket>();
  sockets.on('connection', (socket) => connected.resolve(socket));
  const internalAddress = `127.0.0.1:${await listen(t, server)}`;
  const target: ProxyTarget = { name: 'svc@stub', internalAddress, address: 'stub.test', tls: false };
  const proxy = makeProxy(t, () => target);
  let carried: ProxiedSocket | undefined;
  const node = await startNode(t, 'svc@wrong', {
    rateLimit: () => null,
    forward: (roomId, socket) => {
      carried = socket;
      return proxy.forward(roomId, socket);
    },
  });
  const client = await PeerSocket.open(node.url);
  client.post('authenticate', { token: await node.keys.sign({ roomId: 'r', peerId: 'p' }) });
  const owner = await connected.promise;
  return { client, owner, proxy, waiting: () => carried?.bufferedBytes ?? 0 };
}

/** All intermediate buffers are full: the send queue does not change any more. */
async function waitUntilConstant(queued: () => number, watch: () => void = () => {}): Promise<void> {
  await eventually('the queue stays constant', async () => {
    const before = queued();
    await keepDoing(100, watch, 2);
    return queued() === before;
  });
}

test('a client that does not read stops the owner, and then receives every frame', async (t) => {
  const { client, owner, waiting } = await startStub(t);
  client.webSocket.pause();
  const frame = JSON.stringify({ event: 'data', data: 'x'.repeat(256 * 1024) });
  const count = 200;
  for (let sent = 0; sent < count; sent += 1) owner.send(frame);
  let most = 0;
  await waitUntilConstant(
    () => owner.bufferedAmount,
    () => {
      most = Math.max(most, waiting());
    },
  );
  assert.ok(owner.bufferedAmount > 10 * 1024 * 1024, `the owner still buffers ${owner.bufferedAmount}`);
  assert.ok(most < 3 * 1024 * 1024, `${most} bytes were buffered at the proxy`);
  client.webSocket.resume();
  await eventually('every frame', () => client.frames.length >= count, { wakes: emits(client.webSocket, 'message') });
  assert.equal(client.frames.length, count);
});

test('an owner that does not read stops the client, and then receives every frame', async (t) => {
  const { client, owner } = await startStub(t);
  const heard: string[] = [];
  owner.on('message', (data) => heard.push(data.toString()));
  owner.pause();
  const filling = 'x'.repeat(200 * 1024);
  const count = 200;
  for (let sent = 0; sent < count; sent += 1) client.send(JSON.stringify({ n: sent, filling }));
  await waitUntilConstant(() => client.webSocket.bufferedAmount);
  const { bufferedAmount } = client.webSocket;
  assert.ok(bufferedAmount > 10 * 1024 * 1024, `the client still buffers ${bufferedAmount}`);
  owner.resume();
  await eventually('every frame', () => heard.length > count, { wakes: emits(owner, 'message') });
  assert.deepEqual(
    heard.slice(1).map((text) => (JSON.parse(text) as { n: number }).n),
    Array.from({ length: count }, (_, at) => at),
  );
});

test('any sendable close code passes in both directions, others become 1001', async (t) => {
  for (const [given, expected] of [
    [4999, 4999],
    [3000, 3000],
    [1008, 1008],
    [undefined, 1001],
  ] as const) {
    const { client, owner } = await startStub(t);
    owner.close(given, given === undefined ? undefined : 'why');
    assert.deepEqual(await client.closed, {
      code: expected,
      reason: given === undefined ? 'Node going away: resume at another node' : 'why',
    });
  }
  const { client, owner, proxy } = await startStub(t);
  client.webSocket.close(4321, 'because');
  const [code, reason] = (await once(owner, 'close')) as [number, Buffer];
  assert.deepEqual([code, reason.toString()], [4321, 'because']);
  await client.closed;
  await eventually('no socket is proxied', () => proxy.size === 0);
});
