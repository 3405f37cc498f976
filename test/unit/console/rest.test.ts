// REST client of the console: responses that are cut off or are not JSON.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { Api, ApiError } from '../../../packages/console/src/api/rest.ts';
import { listen } from '../../kit/network/listen.ts';

async function apiOf(t: TestContext, body: string, length = body.length): Promise<Api> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': length });
    response.write(body, () => response.destroy());
  });
  return new Api(`http://127.0.0.1:${await listen(t, server)}/`, 'token');
}

test('a response that ends early is an error, not an empty response', async (t) => {
  const api = await apiOf(t, '{"data": [1, 2', 1_000);
  await assert.rejects(api.document('config'), (error) => error instanceof ApiError && error.unreachable);
});

test('a response that is not JSON is empty', async (t) => {
  const api = await apiOf(t, 'OK');
  assert.deepEqual(await api.document('config'), {});
});
