// Response check: responses that violate the OpenAPI document are reported for every client, by the node that sent them.
import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { assertDocumented, assertNoneMarked, problemMark } from '../../../kit/answers/answer-check.ts';
import { problemOfReceived } from '../../../kit/answers/received-answer.ts';
import { listen } from '../../../kit/network/listen.ts';

type Given = { route?: string | undefined; status: number; json?: unknown; length?: number; node?: boolean };

/** A server that sends the given responses in the way a node does. */
async function serve(t: TestContext) {
  let given: Given = { status: 204 };
  const server = createServer((_, response: ServerResponse & { locals?: object }) => {
    const { route, status, json, length, node = true } = given;
    if (node) response.locals = { trace: { route } };
    response.setHeader('x-first', '1');
    if (length !== undefined) response.setHeader('content-length', length);
    response.writeHead(status, json === undefined ? {} : { 'content-type': 'application/json' });
    const text = JSON.stringify(json);
    if (text !== undefined) response.write(text.slice(0, 3));
    response.end(text?.slice(3));
  });
  const port = await listen(t, server);
  return async (path: string, answer: Given, method = 'GET') => {
    given = answer;
    const finished = new Promise((resolve) => server.once('request', (_, response) => response.once('close', resolve)));
    await (await fetch(`http://127.0.0.1:${port}${path}`, { method })).arrayBuffer();
    await finished;
    return port;
  };
}

const error = { errors: 'No', code: 'forbidden' };
const room = '/room/{roomId}';

test('an undocumented status, body or code is reported without the content of the body', async (t) => {
  const ask = await serve(t);
  for (const [path, answer, message] of [
    ['/room/r?x=1', { route: room, status: 403, json: error }, /GET \/room\/r -> 403 is not documented, only 200, /],
    ['/eu/room/r', { route: room, status: 200, json: { data: 'secret' } }, /GET \/eu\/room\/r -> 200 is not as documented: /],
    ['/room/r', { route: room, status: 404, json: { ...error, code: 'room_full' } }, /-> 404 is not as documented: /],
    ['/nothing', { status: 404, json: { message: 'secret' } }, /GET \/nothing -> 404 does not match the error schema/],
    ['/room/r', { route: room, status: 200 }, /-> 200 is not as documented: /],
  ] as const) {
    const port = await ask(path, answer);
    assert.throws(
      () => assertDocumented(port),
      (thrown: Error) => message.test(thrown.message) && !thrown.message.includes('secret'),
    );
    assertDocumented(port);
  }
});

test('documented responses pass, and so do responses that are not REST of a node', async (t) => {
  const ask = await serve(t);
  const file = '/hls/{roomId}/{file}';
  await ask('/hls/r/index.m3u8', { route: file, status: 403, json: error });
  await ask('/room/r', { route: room, status: 404, json: { errors: 'No', code: 'room_not_found' } });
  await ask('/room/r', { route: room, status: 404 }, 'HEAD');
  await ask('/recording/r/a.webm', { route: '/recording/{recordingId}/{file}', status: 200, length: 7 }, 'HEAD');
  await ask('/', { status: 200, json: { the: 'console' } });
  await ask('/room/r', { status: 418, json: { a: 'webhook receiver' }, node: false });
  assertDocumented(await ask('/nothing', { status: 404, json: { errors: 'No', code: 'not_found' } }));
});

test('a marked line of a node in another process fails the test that started the node', () => {
  assertNoneMarked('{"msg":"node started"}\n');
  assert.throws(() => assertNoneMarked(`{"msg":"node started"}\n${problemMark}GET /x -> 403 is not documented\n`), /GET \/x -> 403/);
});

test('responses received by clients are checked for every path of an Ingress; responses of a proxy are not', () => {
  const of = (url: string, status: number, json: unknown, more: Record<string, string> = { 'x-request-id': 'i' }) => {
    const headers = new Headers({ 'content-type': 'application/json', ...more });
    return problemOfReceived({ method: 'GET', url: `https://rooms.test${url}`, status, headers, body: JSON.stringify(json) ?? '' });
  };
  assert.match(of('/n/1/room/r?x=1', 403, error) ?? '', /GET \/room\/r -> 403 is not documented, only 200, /);
  assert.match(of('/health', 200, { data: { status: 'FINE' } }) ?? '', /GET \/health -> 200 is not as documented: /);
  assert.match(of('/health', 200, undefined) ?? '', /is not as documented: /);
  assert.equal(of('/n/0/room/r', 404, { errors: 'No', code: 'room_not_found' }), undefined);
  const nothing = { errors: 'There is nothing at this address', code: 'not_found' };
  assert.equal(of('/n/0/health', 404, nothing), undefined);
  assert.match(of('/health', 404, nothing) ?? '', /GET \/health -> 404 is not documented, only 200, /);
  assert.equal(of('/health', 502, { message: 'Bad Gateway' }, {}), undefined);
  assert.equal(of('/', 200, undefined, { 'x-request-id': 'i', 'content-type': 'text/html' }), undefined);
  assert.equal(of('/hls/r/a.m4s', 200, 'bytes', { 'x-request-id': 'i', 'content-type': 'video/iso.segment' }), undefined);
});
