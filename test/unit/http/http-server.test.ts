// HTTP server: path of SVC_HOST, websockets, request ids, access log, rate limits, shutdown.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { HttpServer } from '../../../node/http/http-server.ts';
import type { RequestObservation } from '../../../node/http/middleware/access-log.ts';
import { ApiTokens } from '../../../node/rooms/tokens/api-tokens.ts';
import { apiClient } from '../../kit/answers/api-client.ts';
import { socketClosed } from '../../kit/network/listen.ts';
import { parseRaw, readToken, sendRaw, startServer, token } from './server.ts';

test('every route is also served under the path of SVC_HOST, but not under paths with the same prefix', async (context) => {
  const { url, api } = await startServer(context, { host: () => 'media.test/eu/1/' });
  const below = apiClient(`${url}/eu/1`, token);
  assert.equal((await below.post('/room', { roomId: 'r' })).status, 201);
  assert.equal((await below.get('/room?limit=1')).body.data[0].id, 'r');
  assert.equal((await api.get('/room/r')).status, 200);
  assert.equal((await below.get('/docs')).status, 200);
  assert.equal((await api.get('/eu/10/room')).status, 404);
  const bare = await fetch(`${url}/eu/1`, { redirect: 'manual' });
  assert.deepEqual([bare.status, bare.headers.get('location')], [308, '/eu/1/']);
});

test('websockets reach the handler of their path, with and without the path of SVC_HOST', async (context) => {
  const seen: string[] = [];
  const take = (request: IncomingMessage, socket: Duplex) => {
    seen.push(request.url ?? '');
    socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n');
  };
  const { server } = await startServer(context, {
    host: () => 'media.test/eu',
    upgrade: (path) => (path === '/socket/peer/websocket' ? take : undefined),
  });
  const ask = (path: string) => sendRaw(server, `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: WebSocket\r\n\r\n`);
  assert.match(await ask('/socket/peer/websocket?x=1'), /^HTTP\/1.1 101 /);
  assert.match(await ask('/eu/socket/peer/websocket'), /^HTTP\/1.1 101 /);
  assert.equal(seen.length, 2);
  const refused = parseRaw(await ask('/socket/nothing'));
  assert.deepEqual([refused.status, refused.body.code], [404, 'not_found']);
});

test('other upgrades are ignored, and a plain GET of a websocket path gets an error', async (context) => {
  const { server, api } = await startServer(context, { upgrade: (path) => (path === '/socket' ? () => {} : undefined) });
  const upgraded = await sendRaw(server, 'GET /livez HTTP/1.1\r\nhost: x\r\nconnection: upgrade, close\r\nupgrade: h2c\r\n\r\n');
  assert.match(upgraded, /^HTTP\/1.1 200 /);
  const { status, body } = await api.get('/socket');
  assert.deepEqual([status, body.errors], [400, 'This address accepts only websocket connections']);
});

test('a valid request id is echoed, an invalid one replaced', async (context) => {
  const { api } = await startServer(context);
  const idOf = async (id: string) => (await api.request('GET', '/livez', { headers: { 'x-request-id': id } })).headers.get('x-request-id');
  assert.equal(await idOf('abc-DEF_1'), 'abc-DEF_1');
  for (const bad of ['', 'a b', 'x'.repeat(129), 'a;b']) assert.match((await idOf(bad)) ?? '', /^[\da-f-]{36}$/);
});

test('each request is one log line, with a level by status, and without token and query', async (context) => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) });
  const observed: RequestObservation[] = [];
  const { api, url, rooms } = await startServer(context, { log, observe: (each) => observed.push(each) });
  await rooms.createRoom({ roomId: 'r' });
  const closing = context.mock.method(rooms.room('r'), 'close', () => {
    throw new Error('broken');
  });
  await api.request('GET', '/room?limit=7', { headers: { 'x-request-id': 'first' } });
  await api.get('/room/none');
  await apiClient(url, 'a-wrong-token').get('/health');
  await api.delete('/room/r');
  closing.mock.restore();
  await api.get('/nothing?token=secret');
  const answers = lines.filter(({ msg }) => msg === 'request completed');
  const shown = answers.map(({ level, method, path, status, code, caller }) => [level, method, path, status, code, caller]);
  assert.deepEqual(shown, [
    [20, 'GET', '/room', 200, undefined, 'main'],
    [30, 'GET', '/room/none', 404, 'room_not_found', 'main'],
    [30, 'GET', '/health', 401, 'invalid_token', undefined],
    [50, 'DELETE', '/room/r', 500, 'internal', 'main'],
    [30, 'GET', '/nothing', 404, 'not_found', undefined],
  ]);
  assert.equal(answers[0]?.requestId, 'first');
  assert.ok(lines.some(({ msg }) => msg === 'request failed'));
  for (const secret of [token, 'a-wrong-token', 'secret', 'limit']) assert.ok(!JSON.stringify(lines).includes(secret), secret);
  assert.deepEqual(
    observed.map(({ route, status }) => `${route} ${status}`),
    ['/room 200', '/room/{roomId} 404', '/health 401', '/room/{roomId} 500', 'none 404'],
  );
});

test('every response has the security headers and no header that identifies the software', async (context) => {
  const { api } = await startServer(context);
  for (const path of ['/health', '/livez', '/nothing', '/room/none', '/openapi.json']) {
    const { headers } = await api.get(path);
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'");
    for (const name of ['x-powered-by', 'etag', 'server']) assert.equal(headers.get(name), null);
  }
});

/** Rate limits recover with time: on a loaded host two requests may be half a second apart. */
function stopTime(context: TestContext): void {
  const now = performance.now();
  context.mock.method(performance, 'now', () => now);
}

test('a client above the rate limit gets 429 and Retry-After; probes are not counted', async (context) => {
  const { api } = await startServer(context, { rateLimit: () => 2 });
  stopTime(context);
  const statuses: number[] = [];
  for (let i = 0; i < 4; i++) statuses.push((await api.get('/room')).status);
  assert.deepEqual(statuses, [200, 200, 429, 429]);
  const { headers, body } = await api.get('/room');
  assert.deepEqual([headers.get('retry-after'), body.code], ['1', 'too_many_requests']);
  assert.equal((await api.get('/livez')).status, 200);
});

test('clients behind a trusted proxy have separate limits, and a token has its limit for all its clients', async (context) => {
  const { url, api } = await startServer(context, { rateLimit: () => 2, trustProxy: { hops: null, networks: ['127.0.0.0/8'] } });
  stopTime(context);
  const ask = async (client: string, authorization?: string) =>
    (await api.request('GET', '/room', { headers: { 'x-forwarded-for': client, ...(authorization && { authorization }) } })).status;
  const reader = `Bearer ${readToken}`;
  assert.deepEqual([await ask('192.0.2.1'), await ask('192.0.2.2'), await ask('192.0.2.3')], [200, 200, 429]);
  assert.deepEqual([await ask('192.0.2.3', reader), await ask('192.0.2.3', reader)], [200, 429]);
  assert.equal((await fetch(`${url}/openapi.json`, { headers: { 'x-forwarded-for': '192.0.2.4' } })).status, 200);
});

test('requests proxied by another node are not counted for the node, and do not count against local clients', async (context) => {
  const { url, api } = await startServer(context, {
    rateLimit: () => 1,
    forwardedBy: (header) => (header === 'signed' ? { node: 'svc@other', client: '192.0.2.1' } : undefined),
  });
  stopTime(context);
  const ask = async (mark: string) => (await fetch(`${url}/hls/none/index.m3u8`, { headers: { 'x-mediarooms-forwarded': mark } })).status;
  for (let count = 0; count < 20; count += 1) assert.equal(await ask('signed'), 404);
  assert.equal((await api.get('/room')).status, 200);
  assert.equal(await ask('forged'), 429);
});

test('a 429 response contains the time until requests are accepted again', async (context) => {
  const { api } = await startServer(context, { rateLimit: () => 0.1 });
  stopTime(context);
  assert.equal((await api.get('/room')).status, 200);
  const { status, headers } = await api.get('/room');
  assert.deepEqual([status, headers.get('retry-after')], [429, '10']);
});

test('a client that guesses tokens must wait, while a valid token is accepted from every address', async (context) => {
  const tokens = [
    { name: 'main', token, scope: 'admin' as const },
    { name: 'dashboard', token: readToken, scope: 'read' as const },
  ];
  const { url } = await startServer(context, {
    apiTokens: new ApiTokens(() => tokens, 3),
    trustProxy: { hops: null, networks: ['127.0.0.0/8'] },
  });
  stopTime(context);
  const ask = async (given: string, client = '192.0.2.1') =>
    apiClient(url, given).request('GET', '/room', { headers: { 'x-forwarded-for': client } });
  for (let guess = 0; guess < 3; guess++) assert.equal((await ask(`not one ${guess}`)).body.code, 'missing_token');
  for (let guess = 0; guess < 3; guess++) assert.equal((await ask(`guess-${guess}`)).body.code, 'invalid_token');
  const { status, headers, body } = await ask('guess-3');
  assert.deepEqual([status, headers.get('retry-after'), body.errors], [429, '20', 'Too many requests with a wrong token']);
  for (const right of [token, readToken]) assert.equal((await ask(right)).status, 200);
  assert.equal((await ask('guess-4', '192.0.2.2')).body.code, 'invalid_token');
});

test('the client address is read from the header behind a trusted proxy only', async (context) => {
  for (const [trustProxy, client] of [
    [{ hops: null, networks: ['127.0.0.0/8'] }, '192.0.2.7'],
    [{ hops: null, networks: ['10.0.0.0/8'] }, '127.0.0.1'],
    [{ hops: 1, networks: [] }, '192.0.2.7'],
    [{ hops: 0, networks: [] }, '127.0.0.1'],
  ] as const) {
    const clients: unknown[] = [];
    const log = pino({ level: 'debug' }, { write: (line) => void clients.push((JSON.parse(line) as { client: unknown }).client) });
    const { api } = await startServer(context, { log, trustProxy });
    await api.request('GET', '/livez', { headers: { 'x-forwarded-for': '192.0.2.7' } });
    assert.deepEqual(clients, [client]);
  }
});

test('close lets a request finish, then accepts no more', async (context) => {
  const { server, rooms } = await startServer(context);
  const started = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const real = rooms.listRooms.bind(rooms);
  context.mock.method(rooms, 'listRooms', async () => {
    started.resolve();
    await release.promise;
    return real({});
  });
  const agent = new Agent({ keepAlive: true });
  const request = get({ port: server.port, host: '127.0.0.1', path: '/room', agent, headers: { authorization: `Bearer ${token}` } });
  await started.promise;
  const closed = server.close(10_000);
  assert.equal(server.close(0), closed);
  release.resolve();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  assert.equal(response.statusCode, 200);
  response.resume();
  await closed;
  const refused = connect(server.port, '127.0.0.1');
  await assert.rejects(once(refused, 'connect'), /ECONNREFUSED|ERR_SOCKET_BAD_PORT/);
});

test('close aborts unfinished requests at its deadline', async (context) => {
  const { server } = await startServer(context);
  const socket = connect(server.port, '127.0.0.1');
  socket.write('GET /livez HTTP/1.1\r\nhost:');
  await once(socket, 'connect');
  const closed = socketClosed(socket);
  await server.close(20);
  socket.resume();
  await closed;
});

test('an address in use fails the start with a message', async (context) => {
  const { server } = await startServer(context);
  await assert.rejects(startServer(context, { port: server.port }), {
    message: new RegExp(`^Cannot listen on 127\\.0\\.0\\.1 port ${server.port}: `),
  });
  assert.ok(server instanceof HttpServer);
});
