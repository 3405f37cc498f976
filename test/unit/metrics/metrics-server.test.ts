// Metrics server: one path, and no request ends the node.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { nodeMetrics } from '../../../api/metrics.ts';
import { Metrics } from '../../../node/metrics/metrics.ts';
import { MetricsServer } from '../../../node/metrics/metrics-server.ts';
import { silentLog } from '../../kit/silent-log.ts';

async function start(t: TestContext, metrics = new Metrics()): Promise<MetricsServer> {
  const server = await MetricsServer.start({ ip: '127.0.0.1', port: 0, metrics, log: silentLog() });
  t.after(() => server.close());
  return server;
}

/** The response to a raw request line. */
async function ask(server: MetricsServer, line: string): Promise<string> {
  const socket = connect(server.port, '127.0.0.1');
  socket.write(`${line}\r\nhost: x\r\nconnection: close\r\n\r\n`);
  return text(socket);
}

test('metrics are served in the Prometheus text format 0.0.4', async (t) => {
  const server = await start(t);
  const answer = await fetch(`http://127.0.0.1:${server.port}/metrics?name=any`);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  assert.match(await answer.text(), /^# TYPE svc_rooms gauge$/m);
  assert.equal((await fetch(`http://127.0.0.1:${server.port}/metrics`, { method: 'POST' })).status, 405);
});

test('invalid addresses are answered like unknown ones', async (t) => {
  const server = await start(t);
  for (const path of ['/', '//', '//[', '/metrics/', 'http://[/metrics', '*', '/%', '/metrics%00'])
    assert.match(await ask(server, `GET ${path} HTTP/1.1`), /^HTTP\/1\.1 404 /, path);
  assert.match(await ask(server, 'GET /metrics HTTP/1.1'), /^HTTP\/1\.1 200 /);
});

test('metrics that cannot be collected cause a response with status 500', async (t) => {
  const failing = new Metrics();
  failing.collect(nodeMetrics.cluster, () => {
    throw new Error('no');
  });
  const server = await start(t, failing);
  assert.match(await ask(server, 'GET /metrics HTTP/1.1'), /^HTTP\/1\.1 500 [\s\S]*Could not collect metrics\n/);
});

test('a port in use fails the start with an error message', async (t) => {
  const { port } = await start(t);
  await assert.rejects(
    MetricsServer.start({ ip: '127.0.0.1', port, metrics: new Metrics(), log: silentLog() }),
    new Error(`Metrics cannot listen at 127.0.0.1 port ${port} (SVC_METRICS_IP, SVC_METRICS_PORT): EADDRINUSE`),
  );
});
