// Tracing: which traces begin and continue, and what happens to spans that a collector does not accept.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { parseTraceparent, traceparentOf } from '../../../api/core/traceparent.ts';
import { OtlpTracer } from '../../../tracing/otlp-tracer.ts';
import { SpanQueue } from '../../../tracing/span-queue.ts';
import { OtlpReceiver } from '../../kit/otlp-receiver.ts';

const [traceId, spanId] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];
const sampled = `00-${traceId}-${spanId}-01`;

async function startTracer(t: TestContext, samplePercent: number, random = 0.5) {
  const collector = await OtlpReceiver.start(t);
  const failures: unknown[] = [];
  const options = {
    endpoint: collector.url,
    service: 'mediarooms',
    instance: 'here',
    version: '1',
    failed: (error: unknown) => failures.push(error),
  };
  return { collector, failures, tracer: new OtlpTracer({ ...options, samplePercent, random: () => random }) };
}

test('a traceparent is parsed as W3C Trace Context states', () => {
  assert.deepEqual(parseTraceparent(sampled), { traceId, spanId, sampled: true });
  assert.deepEqual(parseTraceparent(`00-${traceId}-${spanId}-00`), { traceId, spanId, sampled: false });
  assert.deepEqual(parseTraceparent(`cc-${traceId}-${spanId}-01-later`), { traceId, spanId, sampled: true });
  assert.equal(traceparentOf({ traceId, spanId, sampled: true }), sampled);
  const invalid = [
    `ff-${traceId}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `${sampled}-later`,
    `${sampled}0`,
    `cc-${traceId}-${spanId}-01-${'x'.repeat(300)}`,
    '',
    undefined,
    [sampled],
  ];
  for (const each of invalid) assert.equal(parseTraceparent(each), undefined, String(each));
});

test('a trace begins only where it may, and at the configured share', async (t) => {
  for (const [percent, random, begins] of [
    [0, 0, false],
    [10, 0.09, true],
    [10, 0.11, false],
    [100, 0.999, true],
  ] as const) {
    const { tracer } = await startTracer(t, percent, random);
    assert.equal(tracer.start('a', 'server', { parent: undefined, mayBegin: true }) !== undefined, begins, `${percent} ${random}`);
    assert.equal(tracer.start('a', 'server', { parent: undefined }), undefined);
    await tracer.close(1_000);
  }
});

test('a sampled traceparent is continued whatever the share is, an unsampled one is not', async (t) => {
  const { tracer, collector } = await startTracer(t, 0);
  assert.equal(tracer.start('a', 'server', { parent: `00-${traceId}-${spanId}-00`, mayBegin: true }), undefined);
  const span = tracer.start('a', 'server', { parent: sampled, attributes: { 'http.route': '/room' } });
  const child = span?.child('b', 'client', { startedMs: 5_000 });
  child?.fail('not_found');
  child?.end();
  span?.end();
  await tracer.close(10_000);
  const [a, b] = await collector.trace(traceId, ['a', 'b']);
  assert.deepEqual([a.parentSpanId, b.parentSpanId, a.node], [spanId, a.spanId, 'here']);
  assert.equal(span?.traceparent, `00-${traceId}-${a.spanId}-01`);
  assert.deepEqual([a.attributes, b.attributes], [{ 'http.route': '/room' }, { 'error.type': 'not_found' }]);
  assert.ok(BigInt(b.endTimeUnixNano) - BigInt(b.startTimeUnixNano) >= 5_000_000_000n);
  assert.deepEqual(tracer.counters(), { exported: 2, dropped: 0 });
});

test('spans that the collector rejects are counted as dropped, and reported once', async (t) => {
  const { tracer, collector, failures } = await startTracer(t, 100);
  collector.status = 400;
  for (let count = 0; count < 3; count += 1) tracer.start('a', 'server', { parent: undefined, mayBegin: true })?.end();
  await tracer.close(10_000);
  assert.deepEqual(tracer.counters(), { exported: 0, dropped: 3 });
  assert.equal(failures.length, 1);
});

test('the queue is bounded while the collector does not respond', () => {
  let respond = () => {};
  const taken: unknown[] = [];
  const queue = new SpanQueue({
    exporter: { export: (spans, done) => (respond = () => done({ code: spans.length === 0 ? 1 : 0 })), shutdown: async () => {} },
    maxPending: 2,
    failed: () => assert.fail('nothing failed'),
    process: (exporter) => ({
      onStart: () => {},
      onEnd: (span) => {
        taken.push(span);
        if (taken.length === 2) exporter.export([span, span], () => {});
      },
      forceFlush: async () => {},
      shutdown: async () => {},
    }),
  });
  const span = {} as Parameters<SpanQueue['onEnd']>[0];
  for (let count = 0; count < 5; count += 1) queue.onEnd(span);
  assert.deepEqual([taken.length, queue.counters()], [2, { exported: 0, dropped: 3 }]);
  respond();
  queue.onEnd(span);
  assert.deepEqual([taken.length, queue.counters()], [3, { exported: 2, dropped: 3 }]);
});
