// CORS: allowed origins and preflights.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer } from '../server.ts';

const preflight = {
  origin: 'https://app.test',
  'access-control-request-method': 'PATCH',
  'access-control-request-headers': 'authorization,content-type',
};

test('by default any origin is allowed, and a preflight needs no token', async (context) => {
  const { api, url } = await startServer(context);
  const { status, headers } = await api.request('OPTIONS', '/room/r', { headers: preflight });
  assert.equal(status, 204);
  assert.equal(headers.get('access-control-allow-origin'), '*');
  assert.equal(headers.get('access-control-allow-methods'), 'GET, HEAD, PATCH, DELETE, OPTIONS');
  assert.equal(headers.get('access-control-allow-headers'), 'authorization, content-type, if-match, x-request-id');
  assert.equal(headers.get('access-control-max-age'), '600');
  const refused = await fetch(`${url}/room`, { headers: { origin: 'https://app.test' } });
  assert.equal(refused.status, 401);
  assert.equal(refused.headers.get('access-control-allow-origin'), '*');
  assert.equal(refused.headers.get('access-control-expose-headers'), 'x-request-id, retry-after, location, etag, link, accept-patch');
});

test('a list of origins allows only those, and takes effect with the next request', async (context) => {
  let origins = ['https://app.test', 'https://other.test'];
  const { api } = await startServer(context, { corsOrigins: () => origins });
  const allowed = async (origin: string) => {
    const { headers } = await api.request('OPTIONS', '/room', { headers: { ...preflight, origin } });
    assert.equal(headers.get('vary'), 'origin');
    return [headers.get('access-control-allow-origin'), headers.get('access-control-allow-methods') !== null];
  };
  assert.deepEqual(await allowed('https://app.test'), ['https://app.test', true]);
  assert.deepEqual(await allowed('https://other.test'), ['https://other.test', true]);
  assert.deepEqual(await allowed('https://evil.test'), [null, false]);
  assert.deepEqual(await allowed('https://app.test.evil.test'), [null, false]);
  origins = [];
  assert.deepEqual(await allowed('https://app.test'), [null, false]);
});

test('OPTIONS without an origin returns the allowed methods', async (context) => {
  const { api } = await startServer(context);
  const { status, headers } = await api.request('OPTIONS', '/room');
  assert.deepEqual([status, headers.get('allow'), headers.get('access-control-allow-methods')], [204, 'POST, GET, HEAD, OPTIONS', null]);
});
