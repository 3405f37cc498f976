// Authentication over REST: tokens, scopes, rotation, signatures, and public routes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routes } from '../../../../node/http/routes/routes.ts';
import { type ApiToken, ApiTokens } from '../../../../node/rooms/tokens/api-tokens.ts';
import { signedRequest } from '../../../../operator/nodes/signature.ts';
import { apiClient } from '../../../kit/answers/api-client.ts';
import { internalAddress, readToken, startServer, token } from '../server.ts';

/** A path of the route with valid ids. */
function pathOf(template: string): string {
  return template.replaceAll(/\{\w+\}/g, 'x');
}

test('every route that needs a token responds 401 without one and with a wrong one, before any validation', async (context) => {
  const { url } = await startServer(context);
  const anonymous = apiClient(url);
  const unauthorized = apiClient(url, 'wrong');
  for (const { method, path } of routes.filter(({ auth }) => auth === 'token')) {
    const without = await anonymous.request(method, pathOf(path));
    assert.deepEqual([without.status, without.body], [401, { errors: 'Missing token', code: 'missing_token' }], `${method} ${path}`);
    assert.equal(without.headers.get('www-authenticate'), 'Bearer realm="mediarooms"');
    const wrong = await unauthorized.request(method, pathOf(path));
    assert.deepEqual([wrong.status, wrong.body], [401, { errors: 'Invalid token', code: 'invalid_token' }], `${method} ${path}`);
    assert.equal(wrong.headers.get('www-authenticate'), 'Bearer realm="mediarooms", error="invalid_token"');
  }
});

test('only probes, documents, the console session, addresses without content and the check of an access token need no token', async (context) => {
  const { url } = await startServer(context);
  const open = routes.filter(({ auth }) => auth === 'none').map(({ path }) => path);
  const empty = (path: string) => [`${path}/{roomId}`, `${path}/{roomId}/{sessionId}`];
  assert.deepEqual(open, [
    ...empty('/whip'),
    '/rtc/validate',
    '/rtc/v1/validate',
    ...empty('/whep'),
    '/livez',
    '/readyz',
    '/console/session',
    '/openapi.json',
    '/asyncapi.json',
    '/schemas/events.json',
    '/docs',
  ]);
  for (const path of open) assert.notEqual((await apiClient(url).get(path)).status, 401, path);
});

test('headers without a bearer token count as missing', async (context) => {
  const { url } = await startServer(context);
  for (const authorization of ['', 'Bearer', 'Bearer ', `Basic ${token}`, token, `Bearer ${token} ${token}`]) {
    const { status, body } = await apiClient(url).request('GET', '/health', { headers: { authorization } });
    assert.deepEqual([status, body.code], [401, 'missing_token'], authorization);
  }
  for (const authorization of [`bearer ${token}`, `BEARER   ${token}`]) {
    assert.equal((await apiClient(url).request('GET', '/health', { headers: { authorization } })).status, 200, authorization);
  }
});

test('tokens that differ in length or in one character are rejected', async (context) => {
  const { url } = await startServer(context);
  for (const wrong of [token.slice(1), `${token}x`, token.toUpperCase(), `${token.slice(0, -1)}x`, 'x'.repeat(8000)]) {
    assert.equal((await apiClient(url, wrong).get('/health')).status, 401, wrong.slice(0, 40));
  }
});

test('a read token can read everything and change nothing', async (context) => {
  const { url, api, rooms } = await startServer(context);
  await api.post('/room', { roomId: 'x' });
  const reader = apiClient(url, readToken);
  const before = JSON.stringify((await api.get('/room/x')).body);
  for (const { method, path } of routes.filter(({ auth }) => auth === 'token')) {
    const { status, body } = await reader.request(method, pathOf(path));
    if (method === 'GET') assert.notEqual(status, 403, path);
    else assert.deepEqual([status, body.code], [403, 'read_only'], `${method} ${path}`);
  }
  assert.equal(rooms.size, 1);
  assert.equal(JSON.stringify((await api.get('/room/x')).body), before);
});

test('every token can query its scope', async (context) => {
  const { url, api } = await startServer(context);
  assert.deepEqual((await api.get('/access')).body, { data: { scope: 'full' } });
  assert.deepEqual((await apiClient(url, readToken).get('/access')).body, { data: { scope: 'read' } });
});

test('a read token sees only the host of the webhook receiver of a room', async (context) => {
  const { url, api } = await startServer(context);
  const webhookUrl = 'https://user:word@hooks.example:8443/key-in-path?key=secret';
  await api.post('/room', { roomId: 'x', webhookUrl });
  const reader = apiClient(url, readToken);
  const seen = [(await reader.get('/room/x')).body.data, (await reader.get('/room')).body.data[0]];
  for (const { config } of seen) assert.equal(config.webhookUrl, 'https://hooks.example:8443');
  assert.equal((await api.get('/room/x')).body.data.config.webhookUrl, webhookUrl);
});

test('several tokens are valid at once, and a rotation takes effect with the next request', async (context) => {
  let tokens: readonly ApiToken[] = [
    { name: 'old', token: 'old', scope: 'admin' },
    { name: 'new', token: 'new', scope: 'admin' },
  ];
  const { url } = await startServer(context, { apiTokens: new ApiTokens(() => tokens) });
  const statuses = () => Promise.all(['old', 'new', 'newer'].map(async (each) => (await apiClient(url, each).get('/health')).status));
  assert.deepEqual(await statuses(), [200, 200, 401]);
  tokens = [
    { name: 'new', token: 'new', scope: 'admin' },
    { name: 'newer', token: 'newer', scope: 'read' },
  ];
  assert.deepEqual(await statuses(), [401, 200, 200]);
  tokens = [];
  assert.deepEqual(await statuses(), [401, 401, 401]);
});

test('a signed request has the permissions of its token, once', async (context) => {
  const { url, rooms } = await startServer(context);
  const send = (signature: { authorization: string }, method: string, path: string, body?: string) =>
    apiClient(url).request(method, path, { headers: { ...signature, ...(body && { 'content-type': 'application/json' }) }, text: body });
  const sign = (key: string, method: string, path: string, body = '') => ({
    authorization: signedRequest({ token: key, method, url: `http://${internalAddress}${path}`, body }),
  });
  const room = JSON.stringify({ roomId: 'x' });
  const made = sign(token, 'POST', '/room', room);
  const other = await send(made, 'POST', '/room', JSON.stringify({ roomId: 'y' }));
  assert.deepEqual([other.status, other.body.errors], [401, 'The body does not match the signature']);
  assert.equal((await send(made, 'POST', '/room', room)).status, 201);
  const again = await send(made, 'POST', '/room', room);
  assert.deepEqual([again.status, again.body], [401, { errors: 'The signature was already used', code: 'invalid_token' }]);
  assert.equal((await send(sign(token, 'GET', '/room?limit=1'), 'GET', '/room?limit=1')).status, 200);
  assert.equal((await send(sign(readToken, 'GET', '/room'), 'GET', '/room')).status, 200);
  assert.equal((await send(sign(readToken, 'DELETE', '/room/x'), 'DELETE', '/room/x')).body.code, 'read_only');
  // Also for a route without a body.
  const deletion = sign(token, 'DELETE', '/room/x');
  assert.equal((await send(deletion, 'DELETE', '/room/x', room)).body.errors, 'The body does not match the signature');
  assert.equal((await send(sign('wrong', 'DELETE', '/room/x'), 'DELETE', '/room/x')).body.errors, 'Invalid signature');
  assert.equal(rooms.size, 1);
  assert.equal((await send(deletion, 'DELETE', '/room/x')).status, 204);
  assert.equal((await send(deletion, 'DELETE', '/room/x')).status, 401);
  assert.equal(rooms.size, 0);
});
