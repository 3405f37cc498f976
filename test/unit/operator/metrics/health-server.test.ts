// Probes and metrics of the operator over HTTP.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { type Check, HealthServer, type HealthServerOptions } from '../../../../operator/metrics/health-server.ts';
import { silentLog } from '../../../kit/silent-log.ts';

async function start(t: TestContext, options: Partial<HealthServerOptions> = {}) {
  const server = await HealthServer.start({
    ip: '127.0.0.1',
    port: 0,
    metrics: { contentType: 'text/plain; version=0.0.4', text: async () => 'up 1\n' },
    healthy: [{ name: 'event-loop', check: () => undefined }],
    ready: [],
    log: silentLog(),
    ...options,
  });
  t.after(() => server.close());
  const get = async (path: string, method = 'GET') => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method });
    return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
  };
  return { server, get };
}

describe('A health server', () => {
  it('at all addresses is reachable over IPv4 and IPv6', async (t) => {
    const { server } = await start(t, { ip: '::' });
    for (const host of ['127.0.0.1', '[::1]']) assert.equal((await fetch(`http://${host}:${server.port}/healthz`)).status, 200, host);
  });

  it('serves the metrics', async (t) => {
    const { get } = await start(t);
    assert.deepEqual(await get('/metrics?x=1'), { status: 200, type: 'text/plain; version=0.0.4', text: 'up 1\n' });
    assert.deepEqual((await get('/metrics', 'HEAD')).text, '');
  });

  it('reports the result of each check and of all checks', async (t) => {
    const caches = { failure: 'rooms are not listed yet' as string | undefined };
    const ready: Check[] = [
      { name: 'caches', check: () => caches.failure },
      { name: 'lease', check: async () => undefined },
    ];
    const { get } = await start(t, { ready });
    const failed = await get('/readyz');
    assert.deepEqual([failed.status, failed.text], [503, '[-]caches failed: rooms are not listed yet\n[+]lease ok\nreadyz check failed\n']);
    assert.equal((await get('/readyz/lease')).status, 200);
    assert.equal((await get('/readyz/caches')).status, 503);
    caches.failure = undefined;
    assert.deepEqual((await get('/readyz')).status, 200);
    assert.deepEqual((await get('/healthz')).text, '[+]event-loop ok\nhealthz check passed\n');
  });

  it('treats a check that throws or hangs as failed', async (t) => {
    const ready: Check[] = [
      { name: 'throws', check: () => Promise.reject(new Error('no such thing')) },
      { name: 'hangs', check: () => new Promise(() => {}) },
    ];
    const { get } = await start(t, { ready, checkMs: 50 });
    const { status, text } = await get('/readyz');
    assert.deepEqual(
      [status, text],
      [503, '[-]throws failed: no such thing\n[-]hangs failed: no result within 50 ms\nreadyz check failed\n'],
    );
  });

  it('is ready without checks, and serves no other paths', async (t) => {
    const { get } = await start(t);
    assert.equal((await get('/readyz')).status, 200);
    for (const path of ['/', '/metrics/x', '/readyz/unknown', '/healthz/event-loop/x', '/%00', '//healthz'])
      assert.equal((await get(path)).status, 404, path);
    assert.equal((await get('/metrics', 'POST')).status, 405);
  });

  it('responds with 500 if metrics cannot be collected', async (t) => {
    const metrics = { contentType: 'text/plain', text: () => Promise.reject(new Error('no')) };
    const { get } = await start(t, { metrics });
    assert.deepEqual(await get('/metrics'), { status: 500, type: 'text/plain; charset=utf-8', text: 'Internal error\n' });
  });

  it('rejects headers that are too long', async (t) => {
    const { server } = await start(t);
    const socket = connect(server.port, '127.0.0.1');
    socket.write(`GET /healthz HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(10_000)}\r\n\r\n`);
    const [answer] = await new Promise<Buffer[]>((resolve) => socket.once('data', (data) => resolve([data])));
    assert.match(String(answer), /^HTTP\/1\.1 431 /);
    socket.destroy();
  });

  it('reports a port in use with one message', async (t) => {
    const { server } = await start(t);
    const again = HealthServer.start({
      ip: '127.0.0.1',
      port: server.port,
      metrics: { contentType: '', text: async () => '' },
      healthy: [],
      ready: [],
      log: silentLog(),
    });
    await assert.rejects(again, { message: `Could not listen at 127.0.0.1 port ${server.port} for metrics and health: EADDRINUSE` });
  });
});
