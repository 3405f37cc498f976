// Routes of the node: health, probes, documents and the console session.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { joinPeer, publish } from '../../../kit/fakes/rooms.ts';
import { health, sendRaw, startServer } from '../server.ts';

test('GET /health returns the health of the node', async (context) => {
  const { api } = await startServer(context);
  const { status, body } = await api.get('/health');
  assert.deepEqual([status, body], [200, { data: health }]);
});

test('liveness is always 200, and readiness follows the node', async (context) => {
  let ready = false;
  const { api } = await startServer(context, { ready: () => ready });
  const before = await api.get('/readyz');
  assert.deepEqual([before.status, before.body], [503, { errors: 'The node is not ready', code: 'unavailable' }]);
  assert.equal((await api.get('/livez')).status, 200);
  ready = true;
  assert.deepEqual((await api.get('/readyz')).body, { data: { status: 'UP' } });
});

test('HEAD responds like GET, without a body', async (context) => {
  const { api, url } = await startServer(context);
  const { status, body, headers } = await api.request('HEAD', '/livez');
  assert.deepEqual([status, body], [200, undefined]);
  assert.equal(headers.get('content-length'), String((await (await fetch(`${url}/livez`)).arrayBuffer()).byteLength));
});

test('/openapi.json lists the routes, with a security scheme for each and the path of SVC_HOST', async (context) => {
  const { api } = await startServer(context, { host: () => 'media.test/eu/1' });
  const { status, body, headers } = await api.get('/openapi.json');
  assert.equal(status, 200);
  assert.equal(headers.get('content-type'), 'application/json');
  assert.equal(body.openapi, '3.1.0');
  assert.deepEqual(body.servers, [{ url: '/eu/1' }]);
  assert.deepEqual(body.paths['/room'].post.security, [{ apiToken: [] }]);
  assert.deepEqual(body.paths['/livez'].get.security, []);
  assert.deepEqual(body.components.securitySchemes.apiToken.scheme, 'bearer');
});

test('/docs is one page about every route, without scripts and external resources', async (context) => {
  const { api } = await startServer(context);
  const { body, headers } = await api.get('/docs');
  assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
  assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; base-uri 'none'/);
  assert.ok(!/<script|src=|url\(|https?:/.test(body));
  const { paths } = (await api.get('/openapi.json')).body as { paths: Record<string, object> };
  for (const path of Object.keys(paths)) assert.ok(body.includes(`<code>${path}</code>`), path);
});

test('/asyncapi.json is the document of the node, or 404 if it has none', async (context) => {
  const without = await startServer(context);
  assert.equal((await without.api.get('/asyncapi.json')).status, 404);
  const { api } = await startServer(context, { documents: { asyncapi: () => ({ asyncapi: '3.0.0' }) } });
  assert.deepEqual((await api.get('/asyncapi.json')).body, { asyncapi: '3.0.0' });
});

test('/schemas/events.json is the JSON Schema of room events', async (context) => {
  const { api, rooms, events } = await startServer(context);
  await rooms.createRoom({ roomId: 'r' });
  await publish(await joinPeer(rooms, 'r', 'alice'), 'audio', 'microphone');
  await rooms.deleteRoom('r');
  const ajv = new Ajv2020();
  addFormats.default(ajv);
  const validate = ajv.compile((await api.get('/schemas/events.json')).body);
  assert.ok(events.some(({ type }) => type === 'TrackAdded'));
  for (const event of events) assert.ok(validate(event), ajv.errorsText(validate.errors));
  assert.ok(!validate({ ...events[0], seq: 0 }));
});

test('the console gets the token in development mode only, and other sites never do', async (context) => {
  const session = { development: true, token: 'development', components: ['file' as const] };
  const { api, server } = await startServer(context, { consoleSession: () => session });
  assert.deepEqual((await api.get('/console/session')).body, session);
  for (const [site, status] of [
    ['same-origin', 200],
    ['none', 200],
    ['same-site', 403],
    ['cross-site', 403],
  ] as const) {
    assert.equal((await api.request('GET', '/console/session', { headers: { 'sec-fetch-site': site } })).status, status, site);
  }
  for (const [headers, isReported] of [
    [{}, true],
    [{ host: 'localhost:5002' }, true],
    [{ host: '[::1]:5002' }, true],
    [{ host: 'rebound.example:5002' }, false],
    [{ host: '127.0.0.1.nip.example' }, false],
    [{ 'x-forwarded-for': '192.0.2.7' }, false],
    [{ 'x-forwarded-proto': 'https' }, false],
    [{ forwarded: 'for=192.0.2.7' }, false],
    [{ via: '1.1 proxy' }, false],
    [{ 'x-real-ip': '192.0.2.7' }, false],
  ] as const) {
    const lines = Object.entries({ host: '127.0.0.1', ...headers }).map((header) => header.join(': '));
    const answer = await sendRaw(server, `GET /console/session HTTP/1.1\r\n${lines.join('\r\n')}\r\nconnection: close\r\n\r\n`);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    assert.match(head, /^HTTP\/1.1 200 /);
    assert.deepEqual(JSON.parse(body), isReported ? session : { development: false, components: ['file'] }, lines.join());
  }
  session.development = false;
  assert.deepEqual((await api.get('/console/session')).body, { development: false, components: ['file'] });
});
