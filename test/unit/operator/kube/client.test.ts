// Kubernetes client with a misbehaving API server: retries, limits and errors.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectOptions } from '../../../../operator/kube/client.ts';
import { KubeError } from '../../../../operator/kube/http/kube-error.ts';
import { resources } from '../../../../operator/kube/objects.ts';
import type { CallObservation } from '../../../../operator/kube/observer.ts';
import { fieldsOf } from '../../../kit/fields.ts';
import { stopwatch } from '../../../kit/promised-time.ts';
import { recordedLog } from '../../../kit/recorded-log.ts';
import { connect, json, room, startFakeApi, status, token } from './fake-api.ts';

const ref = { namespace: 'default', name: 'a' };
const list = (items: object[], more: object = {}) => ({ metadata: { resourceVersion: '7', ...more }, items });
const failure = (wanted: Partial<KubeError>) => (error: unknown) => {
  assert.ok(error instanceof KubeError, String(error));
  for (const [name, value] of Object.entries(wanted)) assert.deepEqual(error[name as keyof KubeError], value);
  return true;
};

async function clientOf(t: TestContext, options: Partial<ConnectOptions>, answer: Parameters<typeof startFakeApi>[1]) {
  const api = await startFakeApi(t, answer);
  return { api, client: await connect(t, { ...api, ...options }) };
}

describe('A Kubernetes client with a fake API server', () => {
  it('returns undefined or false for a missing object instead of an error', async (t) => {
    const { client } = await clientOf(t, {}, (_request, response) => json(response, status(404, 'NotFound', 'rooms "a" not found'), 404));
    assert.equal(await client.get(resources.rooms, ref), undefined);
    assert.equal(await client.patch(resources.rooms, ref, { metadata: {} }), undefined);
    assert.equal(await client.delete(resources.rooms, ref), false);
    assert.equal(await client.serves(resources.serviceMonitors), false);
    await assert.rejects(client.create(resources.rooms, room('a', '1')), failure({ status: 404, message: 'rooms "a" not found' }));
  });

  it('distinguishes a missing object from an unsupported kind', async (t) => {
    const { client } = await clientOf(t, {}, (_request, response) => void response.writeHead(404).end('404 page not found\n'));
    const message = 'The API server returned 404 for get Room default/a.';
    await assert.rejects(client.get(resources.rooms, ref), failure({ status: 404, reason: 'NotServed', message }));
    await assert.rejects(client.delete(resources.rooms, ref), failure({ status: 404, reason: 'NotServed' }));
    assert.equal(await client.serves(resources.rooms), false);
  });

  it('restarts a list that expired between two pages', async (t) => {
    let expired = false;
    const { client } = await clientOf(t, {}, ({ query }, response) => {
      if (!query.has('continue')) return json(response, expired ? list([room('a', '1')]) : list([room('old', '1')], { continue: 'next' }));
      expired = true;
      return json(response, status(410, 'Expired', 'The provided continue parameter is too old'), 410);
    });
    assert.deepEqual((await client.list(resources.rooms)).items, [room('a', '1')]);
  });

  it('retries after 429 and its Retry-After, also for non-idempotent requests', async (t) => {
    const api = await startFakeApi(t, (_request, response) => {
      if (api.asked.length > 1) return json(response, room('a', '1'), 201);
      return json(response, status(429, 'TooManyRequests', 'too many requests, please try again later'), 429, { 'retry-after': '1' });
    });
    const client = await connect(t, { ...api, random: () => 0 });
    const elapsed = stopwatch();
    await client.create(resources.rooms, room('a', '1'));
    assert.ok(elapsed() >= 990);
    assert.equal(api.asked.length, 2);
  });

  it('fails with the message of the API server if the delay exceeds the deadline', async (t) => {
    const busy = status(429, 'TooManyRequests', 'come back tomorrow', { retryAfterSeconds: 86_400 });
    const { api, client } = await clientOf(t, { timeoutMs: 2000 }, (_request, response) => json(response, busy, 429));
    const wanted = { status: 429, reason: 'TooManyRequests', message: 'come back tomorrow', retryAfterMs: 86_400_000 };
    await assert.rejects(client.get(resources.rooms, ref), failure(wanted));
    assert.equal(api.asked.length, 1);
  });

  it('retries after a broken connection, except a create, which may have succeeded', async (t) => {
    const api = await startFakeApi(t, ({ method }, response) => {
      if (method === 'GET' && api.asked.length >= 3) json(response, room('a', '1'));
      else response.destroy();
    });
    const client = await connect(t, api);
    assert.equal((await client.get(resources.rooms, ref))?.metadata.name, 'a');
    assert.equal(api.asked.length, 3);
    await assert.rejects(client.create(resources.rooms, room('a', '1')), failure({ status: 0, reason: 'Unreachable' }));
    assert.equal(api.asked.length, 4);
  });

  it('makes at most five attempts, then reports the API server as unreachable', async (t) => {
    const calls: CallObservation[] = [];
    const { api, client } = await clientOf(t, { random: () => 0, observe: (call) => calls.push(call) }, (_request, response) =>
      json(response, status(503, 'ServiceUnavailable', 'apiserver is shutting down'), 503),
    );
    await assert.rejects(client.get(resources.rooms, ref), failure({ status: 503, message: 'apiserver is shutting down' }));
    assert.deepEqual(
      fieldsOf(calls, 'attempt', 'status'),
      [0, 1, 2, 3, 4].map((attempt) => [attempt, 503]),
    );
    assert.deepEqual(calls.map(({ verb, method, resource, host }) => [verb, method, resource, host])[0], [
      'get',
      'GET',
      'rooms',
      `127.0.0.1:${api.port}`,
    ]);
  });

  it('does not retry a rejected request', async (t) => {
    const refusal = status(422, 'Invalid', 'Room.mediarooms.dev "a" is invalid: spec.maxPeers: must be at least 1');
    const { api, client } = await clientOf(t, {}, (_request, response) => json(response, refusal, 422));
    await assert.rejects(
      client.apply(resources.rooms, room('a', '1')),
      failure({ status: 422, reason: 'Invalid', message: refusal.message }),
    );
    assert.equal(api.asked.length, 1);
  });

  it('times out on a response that never begins or never ends', async (t) => {
    const { client } = await clientOf(t, { timeoutMs: 200 }, ({ path }, response) => {
      if (path.endsWith('/slow')) response.writeHead(200).write('{');
    });
    const message = 'The API server did not respond within 200 ms (get Room default/a).';
    await assert.rejects(client.get(resources.rooms, ref), failure({ status: 0, reason: 'Timeout', message }));
    await assert.rejects(client.get(resources.rooms, { ...ref, name: 'slow' }), failure({ reason: 'Timeout' }));
  });

  it('rejects a response that is not JSON, not an object, or too long', async (t) => {
    const long = JSON.stringify({ x: 'y'.repeat(2 ** 20) });
    const { client } = await clientOf(t, { timeoutMs: 20_000 }, async ({ path }, response) => {
      if (path.endsWith('/html')) return void response.end('<html>login</html>');
      if (path.endsWith('/odd')) return json(response, { kind: 'Room' });
      await pipeline(Readable.from(Array.from({ length: 140 }, () => long)), response).catch(() => {});
    });
    const bad = failure({ status: 0, reason: 'BadAnswer' });
    await assert.rejects(client.get(resources.rooms, { ...ref, name: 'html' }), bad);
    await assert.rejects(client.get(resources.rooms, { ...ref, name: 'odd' }), bad);
    await assert.rejects(client.get(resources.rooms, { ...ref, name: 'long' }), bad);
  });

  it('reuses connections and limits concurrent requests', async (t) => {
    let atOnce = 0;
    let most = 0;
    // The first requests are answered when the limit is reached; otherwise they could finish before the last ones have connected.
    const full = new EventEmitter();
    const api = await startFakeApi(t, async (_request, response) => {
      most = Math.max(most, ++atOnce);
      if (api.asked.length === 32) full.emit('full');
      if (api.asked.length < 32) await once(full, 'full');
      await sleep(5);
      atOnce -= 1;
      json(response, room('a', '1'));
    });
    const client = await connect(t, api);
    await Promise.all(Array.from({ length: 200 }, () => client.get(resources.rooms, ref)));
    assert.equal(most, 32);
    const connections = api.connections();
    assert.ok(connections <= 64, `${connections} connections`);
    for (let i = 0; i < 20; i++) await client.get(resources.rooms, ref);
    assert.equal(api.connections(), connections);
  });

  it('lets urgent requests bypass the queue', async (t) => {
    const { api, client } = await clientOf(t, { timeoutMs: 60_000 }, ({ path }, response) => {
      if (path.endsWith('/lease')) json(response, room('lease', '1'));
    });
    const term = new AbortController();
    const slow = client.scoped({ signal: term.signal });
    const stuck = Promise.allSettled(Array.from({ length: 40 }, () => slow.get(resources.rooms, ref)));
    await api.until(32);
    const urgent = client.scoped({ urgent: true });
    assert.equal((await urgent.get(resources.rooms, { ...ref, name: 'lease' }))?.metadata.name, 'lease');
    assert.equal(api.asked.length, 33);
    term.abort(new Error('enough'));
    assert.ok((await stuck).every(({ status: outcome }) => outcome === 'rejected'));
  });

  it('aborts running and queued requests of a scope with its signal', async (t) => {
    const { api, client } = await clientOf(t, {}, () => {});
    const term = new AbortController();
    const calls = Array.from({ length: 40 }, () =>
      client.scoped({ signal: term.signal }).scoped({ timeoutMs: 60_000 }).get(resources.rooms, ref),
    );
    const ended = Promise.allSettled(calls);
    await api.until(32);
    const reason = new Error('the lease is lost');
    term.abort(reason);
    for (const result of await ended) assert.equal(result.status === 'rejected' && result.reason, reason);
    assert.equal(api.asked.length, 32);
    await assert.rejects(client.scoped({ signal: term.signal }).get(resources.rooms, ref), reason);
  });

  it('rejects writes but not reads after leadership was lost', async (t) => {
    const { api, client } = await clientOf(t, {}, (_request, response) => json(response, room('a', '1')));
    let leads = true;
    const leader = client.scoped({ mayWrite: () => leads });
    await leader.apply(resources.rooms, room('a', '1'));
    leads = false;
    const notLeader = failure({ status: 0, reason: 'NotLeader' });
    for (const write of [
      leader.create(resources.rooms, room('a', '1')),
      leader.delete(resources.rooms, ref),
      leader.scoped({ mayWrite: () => true }).patch(resources.rooms, ref, {}),
    ])
      await assert.rejects(write, notLeader);
    assert.ok(await leader.get(resources.rooms, ref));
    assert.equal(api.asked.length, 2);
  });

  it('notifies listeners when the API server is reachable again', async (t) => {
    let there = false;
    const { client } = await clientOf(t, { timeoutMs: 20_000 }, (_request, response) =>
      there ? json(response, room('a', '1')) : void response.destroy(),
    );
    let back = 0;
    const stop = client.onReachable(() => back++);
    await assert.rejects(client.get(resources.rooms, ref));
    there = true;
    for (let i = 0; i < 3; i++) await client.get(resources.rooms, ref);
    assert.equal(back, 1);
    stop();
  });

  it('never exposes tokens or Secret content in errors or logs', async (t) => {
    const { log, lines } = recordedLog();
    const quoting = status(422, 'Invalid', 'Secret "a" is invalid: data[key]: Invalid value: "hunter2"', {
      causes: [{ field: 'data[key]', message: 'hunter2' }],
    });
    const { client } = await clientOf(t, { log, timeoutMs: 20_000 }, ({ method }, response) =>
      method === 'GET' ? void response.destroy() : json(response, quoting, 422),
    );
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a', namespace: 'default' }, stringData: { key: 'hunter2' } };
    const calls = [client.apply(resources.secrets, secret), client.create(resources.secrets, secret), client.get(resources.secrets, ref)];
    const errors = (await Promise.allSettled(calls)).map((call): unknown => (call.status === 'rejected' ? call.reason : undefined));
    assert.equal((errors[0] as Error).message, 'The API server rejected apply Secret default/a: Invalid (data[key]).');
    const output = JSON.stringify([errors, lines, errors.map(String)]) + errors.map((error) => (error as Error).stack).join();
    assert.ok(errors.every((error) => error instanceof Error) && lines.length >= 3);
    assert.ok(!output.includes('hunter2') && !output.includes(token), output);
  });

  it('never interprets a name as a path', async (t) => {
    const { api, client } = await clientOf(t, {}, (_request, response) => json(response, room('a', '1')));
    await client.get(resources.rooms, { ...ref, name: 'a/../../secrets?x' });
    assert.equal(api.asked[0]?.path, '/apis/mediarooms.dev/v1alpha2/namespaces/default/rooms/a%2F..%2F..%2Fsecrets%3Fx');
    await assert.rejects(client.get(resources.rooms, { ...ref, name: '..' }), TypeError);
    await assert.rejects(client.get(resources.rooms, { name: 'a' }), TypeError);
  });
});
