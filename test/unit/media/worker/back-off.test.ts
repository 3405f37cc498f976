// Backoff: delay before a dead media worker is restarted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BackOff } from '../../../../node/media/worker/back-off.ts';

test('restart delays double from 250 ms up to 30 s', () => {
  const backOff = new BackOff();
  const delays = Array.from({ length: 9 }, () => backOff.delayAfter(0));
  assert.deepEqual(delays, [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
});

test('the delay is reset after a worker ran for a minute', () => {
  const backOff = new BackOff();
  for (let deaths = 0; deaths < 5; deaths += 1) backOff.delayAfter(59_999);
  assert.equal(backOff.delayAfter(60_000), 250);
  assert.equal(backOff.delayAfter(10), 500);
});
