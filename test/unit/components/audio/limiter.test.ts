// Limiter: loud input is reduced below full scale, other input is only delayed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ceiling, Limiter, limiterDelay } from '../../../../node/components/audio/limiter.ts';
import { concat, levelOf, tone } from '../../../kit/media/tones.ts';

const rate = 48_000;

/** One channel, in blocks of 20 ms. */
function run(limiter: Limiter, samples: Float32Array): Float32Array {
  return concat(
    Array.from({ length: samples.length / 960 }, (_, index) => {
      const block = samples.slice(index * 960, (index + 1) * 960);
      limiter.run(block);
      return block;
    }),
  );
}

test('quiet audio is only delayed, also after loud audio', () => {
  const limiter = new Limiter();
  const quiet = tone(500, rate, rate, { level: 0.5 });
  assert.deepEqual(run(limiter, quiet).subarray(limiterDelay), quiet.subarray(0, -limiterDelay));
  const loud = run(limiter, tone(500, rate, rate, { level: 3 }));
  assert.ok(loud.every((sample) => Math.abs(sample) <= ceiling + 1e-6));
  assert.ok(levelOf(loud.subarray(rate / 2), 500, rate) > 0.8);
  // Full gain is restored within seconds, without a step.
  const after = run(limiter, tone(500, rate, 8 * rate, { level: 0.5 }));
  assert.ok(after.subarray(limiterDelay).every((sample, index, all) => index === 0 || Math.abs(sample - (all[index - 1] ?? 0)) < 0.034));
  assert.deepEqual(after.subarray(-960), tone(500, rate, 960, { level: 0.5, from: 8 * rate - 960 - limiterDelay }));
});

test('loud and quiet blocks join without a step', () => {
  const limiter = new Limiter();
  const samples = concat([0.2, 2, 0.2, 0.9, 0.2].map((level, index) => tone(100, rate, 9600, { level, from: index * 9600 })));
  const out = run(limiter, samples);
  assert.ok(out.every((sample) => Math.abs(sample) <= ceiling + 1e-6));
  assert.ok(out.every((sample, index) => index === 0 || Math.abs(sample - (out[index - 1] ?? 0)) < 0.02));
});
