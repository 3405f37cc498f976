// Stat totals: they never decrease and include closed transports.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Counted, StatTotals } from '../../../node/media/stat-totals.ts';

type Field = 'bytesReceived' | 'bytesSent';
type Fake = Counted<Field> & { bytes: number; answers: 'now' | 'never' | 'fails' };

const totals = (deadline?: number) => new StatTotals<Field>(['bytesReceived', 'bytesSent'], deadline);

function transport(bytes: number): Fake {
  return {
    bytes,
    answers: 'now',
    getStats() {
      const stats = [{ bytesReceived: this.bytes, bytesSent: this.bytes * 2 }];
      if (this.answers === 'never') return new Promise(() => {});
      return this.answers === 'fails' ? Promise.reject(new Error('gone')) : Promise.resolve(stats);
    },
  };
}

test('the last count of a closed transport stays in the total', async () => {
  const meter = totals();
  const router = {};
  const [one, two] = [transport(5), transport(10)];
  meter.add(one, router);
  meter.add(two, router);
  assert.deepEqual(await meter.read(), { bytesReceived: 15, bytesSent: 30 });
  one.bytes = 7;
  meter.leave(one);
  one.bytes = 1000;
  assert.deepEqual(await meter.read(), { bytesReceived: 17, bytesSent: 34 });
  two.bytes = 11;
  meter.leaveAll(router);
  meter.leaveAll(router);
  assert.deepEqual(await meter.read(), { bytesReceived: 18, bytesSent: 36 });
  assert.deepEqual(await meter.read(), { bytesReceived: 18, bytesSent: 36 });
});

test('a total does not decrease on a late response or after the death of a worker', async () => {
  const meter = totals();
  const one = transport(5);
  meter.add(one, {});
  await meter.read();
  one.bytes = 3;
  assert.deepEqual(await meter.read(), { bytesReceived: 5, bytesSent: 10 });
  one.answers = 'fails';
  assert.deepEqual(await meter.read(), { bytesReceived: 5, bytesSent: 10 });
  meter.leave(one);
  assert.deepEqual(await meter.read(), { bytesReceived: 5, bytesSent: 10 });
});

test('an unresponsive worker delays a reading only until the deadline, and the counts of others are returned', async () => {
  const meter = totals(20);
  const [silent, other] = [transport(1), transport(2)];
  silent.answers = 'never';
  meter.add(silent, {});
  meter.add(other, {});
  assert.deepEqual(await meter.read(), { bytesReceived: 2, bytesSent: 4 });
});

test('the streams of a subject are added, and a missing count is zero', async () => {
  const losses = new StatTotals(['packetsLost']);
  losses.add({ getStats: async () => [{ packetsLost: 2 }, {}, { packetsLost: 3 }] }, {});
  assert.deepEqual(await losses.read(), { packetsLost: 5 });
});
