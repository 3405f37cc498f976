// Trace of a Room: the same for each reconcile of a generation, sampled by share.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTraceparent } from '../../../../api/core/traceparent.ts';
import { traceOfRoom } from '../../../../operator/nodes/request-trace.ts';

const room = (uid: string, generation: number, resourceVersion = '1') => ({ metadata: { uid, generation, resourceVersion } });

test('the trace of a Room depends on its uid and its generation only', () => {
  const trace = traceOfRoom(room('a', 1), 100);
  assert.equal(parseTraceparent(trace)?.sampled, true);
  assert.equal(traceOfRoom(room('a', 1, '2'), 100), trace);
  for (const other of [room('a', 2), room('b', 1)])
    assert.notEqual(parseTraceparent(traceOfRoom(other, 100))?.traceId, parseTraceparent(trace)?.traceId);
});

test('a share of traces is sampled, and every replica decides the same', () => {
  const rooms = Array.from({ length: 1_000 }, (_, index) => room(`uid-${index}`, 1));
  const sampled = (percent: number) => rooms.filter((each) => parseTraceparent(traceOfRoom(each, percent))?.sampled).length;
  assert.deepEqual([sampled(0), sampled(100)], [0, 1_000]);
  assert.ok(sampled(10) > 60 && sampled(10) < 140, String(sampled(10)));
});
