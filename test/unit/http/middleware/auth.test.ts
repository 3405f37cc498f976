// Who may call: tokens, scopes, rotation, and what needs no token.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routes } from '../../../../node/http/routes/routes.ts';
import { type ApiToken, ApiTokens } from '../../../../node/rooms/tokens/api-tokens.ts';
import { signedRequest } from '../../../../operator/nodes/signature.ts';
import { apiClient } from '../../../kit/answers/api-client.ts';
import { internalAddress, readToken, startServer, token } from '../server.ts';

/** A path of the route with ids that can be. */
function pathOf(template: string): string {
  return template.replaceAll(/\{\w+\}/g, 'x');
}

test('every route that needs a token answers 401 without one and with a wrong one, before it looks at anything else', async (context) => {
  const { url } = await startServer(context);
  const anonymous = apiClient(url);
  const stranger = apiClient(url, 'wrong');
  for (const { method, path } of routes.filter(({ auth }) => auth === 'token')) {
    const without = await anonymous.request(method, pathOf(path));
    assert.deepEqual([without.status, without.body], [401, { errors: 'Missing token', code: 'missing_token' }], `${method} ${path}`);
    assert.equal(without.headers.get('www-authenticate'), 'Bearer realm="mediarooms"');
    const wrong = await stranger.request(method, pathOf(path));
    assert.deepEqual([wrong.status, wrong.body], [401, { errors: 'Invalid token', code: 'invalid_token' }], `${method} ${path}`);
    assert.equal(wrong.headers.get('www-authenticate'), 'Bearer realm="mediarooms", error="invalid_token"');
  }
});

test('probes, documents and the console session need no token, and nothing else does', async (context) => {
  const { url } = await startServer(context);
  const open = routes.filter(({ auth }) => auth === 'none').map(({ path }) => path);
  assert.deepEqual(open, ['/livez', '/readyz', '/console/session', '/openapi.json', '/asyncapi.json', '/schemas/events.json', '/docs']);
  for (const path of open) assert.notEqual((await apiClient(url).get(path)).status, 401, path);
});

test('headers that carry no bearer token count as missing', async (context) => {
  const { url } = await startServer(context);
  for (const authorization of ['', 'Bearer', 'Bearer ', `Basic ${token}`, token, `Bearer ${token} ${token}`]) {
    const { status, body } = await apiClient(url).request('GET', '/health', { headers: { authorization } });
    assert.deepEqual([status, body.code], [401, 'missing_token'], authorization);
  }
  for (const authorization of [`bearer ${token}`, `BEARER   ${token}`]) {
    assert.equal((await apiClient(url).request('GET', '/health', { headers: { authorization } })).status, 200, authorization);
  }
});

test('tokens that differ in length or in one character are wrong', async (context) => {
  const { url } = await startServer(context);
  for (const wrong of [token.slice(1), `${token}x`, token.toUpperCase(), `${token.slice(0, -1)}x`, 'x'.repeat(8000)]) {
    assert.equal((await apiClient(url, wrong).get('/health')).status, 401, wrong.slice(0, 40));
  }
});

test('a token that may only read sees everything and changes nothing', async (context) => {
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

test('everybody is told what their token may do', async (context) => {
  const { url, api } = await startServer(context);
  assert.deepEqual((await api.get('/access')).body, { data: { scope: 'full' } });
  assert.deepEqual((await apiClient(url, readToken).get('/access')).body, { data: { scope: 'read' } });
});

test('of the receiver of webhooks of a room a token that may only read sees no more than the address', async (context) => {
  const { url, api } = await startServer(context);
  const webhookUrl = 'https://user:word@hooks.example:8443/key-in-path?key=secret';
  await api.post('/room', { roomId: 'x', webhookUrl });
  const reader = apiClient(url, readToken);
  const seen = [(await reader.get('/room/x')).body.data, (await reader.get('/room')).body.data[0]];
  for (const { config } of seen) assert.equal(config.webhookUrl, 'https://hooks.example:8443');
  assert.equal((await api.get('/room/x')).body.data.config.webhookUrl, webhookUrl);
});

test('several tokens are good at once, and a rotation holds from the next request on', async (context) => {
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

test('a signed request does what one with the token does, once', async (context) => {
  const { url, rooms } = await startServer(context);
  const send = (signature: { authorization: string }, method: string, path: string, body?: string) =>
    apiClient(url).request(method, path, { headers: { ...signature, ...(body && { 'content-type': 'application/json' }) }, text: body });
  const sign = (key: string, method: string, path: string, body = '') => ({
    authorization: signedRequest({ token: key, method, url: `http://${internalAddress}${path}`, body }),
  });
  const room = JSON.stringify({ roomId: 'x' });
  const made = sign(token, 'POST', '/room', room);
  const other = await send(made, 'POST', '/room', JSON.stringify({ roomId: 'y' }));
  assert.deepEqual([other.status, other.body.errors], [401, 'The body is not the one that was signed']);
  assert.equal((await send(made, 'POST', '/room', room)).status, 201);
  const again = await send(made, 'POST', '/room', room);
  assert.deepEqual([again.status, again.body], [401, { errors: 'This was sent before', code: 'invalid_token' }]);
  assert.equal((await send(sign(token, 'GET', '/room?limit=1'), 'GET', '/room?limit=1')).status, 200);
  assert.equal((await send(sign(readToken, 'GET', '/room'), 'GET', '/room')).status, 200);
  assert.equal((await send(sign(readToken, 'DELETE', '/room/x'), 'DELETE', '/room/x')).body.code, 'read_only');
  // Of a route without a body, too.
  const deletion = sign(token, 'DELETE', '/room/x');
  assert.equal((await send(deletion, 'DELETE', '/room/x', room)).body.errors, 'The body is not the one that was signed');
  assert.equal((await send(sign('wrong', 'DELETE', '/room/x'), 'DELETE', '/room/x')).body.errors, 'Invalid signature');
  assert.equal(rooms.size, 1);
  assert.equal((await send(deletion, 'DELETE', '/room/x')).status, 204);
  assert.equal((await send(deletion, 'DELETE', '/room/x')).status, 401);
  assert.equal(rooms.size, 0);
});
