// Hostile HTTP requests: each gets one clear response in the shape of all errors.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { getRaw, parseRaw, sendRaw, startServer, token } from './server.ts';

test('paths with invalid encoding, dots, NUL, Unicode or excessive length are rejected', async (context) => {
  const { server, rooms } = await startServer(context);
  const id = 'Expected roomId to be 1 to 128 alphanumeric characters, hyphens or underscores, got: ';
  const cases: [path: string, status: number, message: string][] = [
    ['/room/%zz', 400, 'The path has malformed percent-encoding'],
    ['/room/%', 400, 'The path has malformed percent-encoding'],
    ['/room/%ff', 400, 'The path has malformed percent-encoding'],
    ['/room/%00', 400, `${id}"\\u0000"`],
    ['/room/..', 400, `${id}".."`],
    ['/room/%2e%2e', 400, `${id}".."`],
    ['/room/%2e%2e%2f%2e%2e%2fetc%2fpasswd', 400, `${id}"../../etc/passwd"`],
    ['/room/a%2fb', 400, `${id}"a/b"`],
    ['/room/r%C3%A4ume', 400, `${id}"räume"`],
    ['/room/a%20b', 400, `${id}"a b"`],
    ['/room/a%0a', 400, `${id}"a\\n"`],
    [`/room/${'x'.repeat(129)}`, 400, `${id}"${'x'.repeat(99)}…`],
    [`/room/${'x'.repeat(128)}`, 404, `Room ${'x'.repeat(128)} does not exist`],
    ['/room/__proto__', 404, 'Room __proto__ does not exist'],
    ['/room/constructor', 404, 'Room constructor does not exist'],
    ['/room/r/peer/%00', 400, 'Expected peerId to be 1 to 128 alphanumeric characters, hyphens or underscores, got: "\\u0000"'],
    ['/room/../health', 404, 'There is nothing at this address'],
    ['/../../etc/passwd', 404, 'There is nothing at this address'],
    ['/%2e%2e/%2e%2e/etc/passwd', 404, 'There is nothing at this address'],
    ['//room', 404, 'There is nothing at this address'],
    ['/ROOM', 404, 'There is nothing at this address'],
    ['/%00', 404, 'There is nothing at this address'],
    [`/${'x'.repeat(8000)}`, 404, 'There is nothing at this address'],
    [`/${'x'.repeat(17_000)}`, 431, 'The address and headers of the request are too long'],
  ];
  for (const [path, status, message] of cases) {
    const answer = await getRaw(server, path);
    assert.deepEqual([answer.status, answer.body.errors], [status, message], path.slice(0, 60));
    assert.match(answer.head, /content-type: application\/json/);
    assert.match(answer.head, /x-content-type-options: nosniff/);
  }
  assert.equal(rooms.size, 0);
});

test('invalid HTTP is rejected in our error shape and the connection is closed', async (context) => {
  const { server } = await startServer(context);
  const cases: [bytes: string, status: number, code: string][] = [
    ['hello\r\n\r\n', 400, 'bad_request'],
    ['GET /livez HTTP/9.9\r\n\r\n', 400, 'bad_request'],
    ['GET /livez HTTP/1.1\r\nbad header\r\n\r\n', 400, 'bad_request'],
    ['GET /livez HTTP/1.1\r\nconnection: close\r\n\r\n', 400, 'bad_request'],
    ['POST /room HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n', 400, 'bad_request'],
    [`GET /livez HTTP/1.1\r\nhost: x\r\nx-big: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
  ];
  for (const [bytes, status, code] of cases) {
    const answer = parseRaw(await sendRaw(server, bytes));
    assert.deepEqual([answer.status, answer.body.code], [status, code], bytes.slice(0, 60));
  }
});

test('an unknown path is 404, and a wrong method is 405 with the allowed ones', async (context) => {
  const { api, server } = await startServer(context);
  const unknown = await api.get('/nothing');
  assert.deepEqual([unknown.status, unknown.body], [404, { errors: 'There is nothing at this address', code: 'not_found' }]);
  const cases: [method: string, path: string, allow: string][] = [
    ['PUT', '/room', 'POST, GET, HEAD, OPTIONS'],
    ['POST', '/room/r', 'GET, HEAD, PATCH, DELETE, OPTIONS'],
    ['DELETE', '/livez', 'GET, HEAD, OPTIONS'],
    ['GET', '/room/r/data', 'POST, OPTIONS'],
  ];
  for (const [method, path, allow] of cases) {
    const { status, body, headers } = await api.request(method, path);
    assert.deepEqual(
      [status, body, headers.get('allow')],
      [405, { errors: `Method ${method} is not allowed here, only ${allow}`, code: 'method_not_allowed' }, allow],
    );
  }
  const trace = await getRaw(server, '/room', 'TRACE');
  assert.deepEqual([trace.status, trace.body.code], [405, 'method_not_allowed']);
});

test('a request that arrives too slowly is answered 408 and its connection is closed', async (context) => {
  const { server } = await startServer(context, { timeouts: { headers: 100, request: 200, check: 50 } });
  const headers = parseRaw(await sendRaw(server, 'GET /livez HTTP/1.1\r\nhost: x\r\n'));
  assert.deepEqual([headers.status, headers.body.code], [408, 'request_timeout']);
  const body = await sendRaw(
    server,
    `POST /room HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{`,
  );
  const answer = parseRaw(body);
  assert.deepEqual([answer.status, answer.body.code], [408, 'request_timeout']);
});

test('a client that disconnects during its body leaks nothing', async (context) => {
  const { server, api, rooms } = await startServer(context);
  const socket = connect(server.port, '127.0.0.1');
  socket.write(
    `POST /room HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{`,
  );
  await once(socket, 'connect');
  socket.destroy();
  await once(socket, 'close');
  assert.equal((await api.get('/livez')).status, 200);
  assert.equal(rooms.size, 0);
});

test('half-finished connections release their handles', async (context) => {
  const { server, api } = await startServer(context, { timeouts: { headers: 300, request: 300, check: 50 } });
  const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  await api.get('/livez');
  const before = sockets();
  const starts = [
    '',
    'GET /li',
    'GET /livez HTTP/1.1\r\nhost: x\r\n',
    `POST /room HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-length: 9\r\n\r\n{`,
  ];
  const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => sendRaw(server, starts[i % starts.length] ?? '')));
  assert.equal(answers.filter((answer) => answer.startsWith('HTTP/1.1 408 ')).length, 100);
  assert.ok(sockets() <= before, `${sockets()} sockets, ${before} before`);
  assert.equal((await api.get('/livez')).status, 200);
});

test('a connection without transfer is closed', async (context) => {
  const { server } = await startServer(context, { timeouts: { stalled: 200, headers: 60_000, request: 60_000 } });
  assert.equal(await sendRaw(server, 'GET /livez HTTP/1.1\r\nhost:'), '');
});

test('an unexpected body is measured and discarded, and the connection stays usable', async (context) => {
  const { server } = await startServer(context);
  const get = (size: number, last: string) =>
    `GET /livez HTTP/1.1\r\nhost: x\r\nconnection: ${last}\r\ncontent-length: ${size}\r\n\r\n${'x'.repeat(size)}`;
  const response = await sendRaw(server, get(1000, 'keep-alive') + get(64 * 1024 + 1, 'keep-alive') + get(0, 'close'));
  assert.deepEqual(
    [...response.matchAll(/^HTTP\/1.1 (\d+)|(?<=})HTTP\/1.1 (\d+)/gm)].map(([, first, next]) => first ?? next),
    ['200', '413', '200'],
  );
});

test('an unknown expectation is ignored', async (context) => {
  const { server } = await startServer(context);
  assert.match(await sendRaw(server, 'GET /livez HTTP/1.1\r\nhost: x\r\nexpect: wonders\r\nconnection: close\r\n\r\n'), /^HTTP\/1.1 200 /);
});

test('an endless body is aborted with 413', async (context) => {
  const { server } = await startServer(context);
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
  const response = await sendRaw(
    server,
    `POST /room HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ntransfer-encoding: chunked\r\n\r\n${chunk.repeat(40)}`,
  );
  const answer = parseRaw(response);
  assert.deepEqual([answer.status, answer.body.code], [413, 'too_large']);
  assert.match(answer.head, /connection: close/);
});

test('an internal error is answered 500 without details', async (context) => {
  const { api, rooms } = await startServer(context);
  context.mock.method(rooms, 'room', () => {
    throw new Error('the secret is 42');
  });
  const { status, body } = await api.get('/room/r');
  assert.deepEqual([status, body], [500, { errors: 'Internal server error', code: 'internal' }]);
});
