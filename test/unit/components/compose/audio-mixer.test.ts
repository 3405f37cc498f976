// Audio mixer: stays below full scale with minimal distortion, and handles gaps, late and early audio.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ceiling, Limiter, limiterDelay } from '../../../../node/components/audio/limiter.ts';
import { MixerInput } from '../../../../node/components/compose/mixer-input.ts';
import { seededRandom } from '../../../kit/seeded-random.ts';

const rate = 48_000;
const block = 1024;

/** Runs the limiter block by block. @returns its output without the latency */
function limit(samples: Float32Array): Float32Array {
  const limiter = new Limiter();
  const out = new Float32Array(samples.length + block);
  out.set(samples);
  for (let at = 0; at + block <= out.length; at += block) limiter.run(out.subarray(at, at + block), new Float32Array(block));
  return out.subarray(limiterDelay, samples.length);
}

function tones(frequencies: readonly number[], loudness: number, seconds: number): Float32Array {
  return Float32Array.from({ length: Math.floor((seconds * rate) / block) * block }, (_, index) =>
    frequencies.reduce((sum, frequency) => sum + loudness * Math.sin((2 * Math.PI * frequency * index) / rate), 0),
  );
}

const peakOf = (samples: Float32Array) => samples.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
const energyOf = (samples: Float32Array) => samples.reduce((sum, value) => sum + value * value, 0);

/** Energy outside of these frequencies relative to the total, in decibels. */
function distortion(samples: Float32Array, frequencies: readonly number[]): number {
  let of = 0;
  for (const frequency of frequencies) {
    let [re, im] = [0, 0];
    for (const [index, value] of samples.entries()) {
      re += value * Math.cos((2 * Math.PI * frequency * index) / rate);
      im += value * Math.sin((2 * Math.PI * frequency * index) / rate);
    }
    of += (2 * (re * re + im * im)) / samples.length;
  }
  return 10 * Math.log10(Math.max(1e-9, 1 - of / energyOf(samples)));
}

test('audio below the ceiling passes unchanged', () => {
  const samples = tones([440], 0.8, 1);
  const out = limit(samples);
  for (const [index, value] of out.entries()) assert.ok(Math.abs(value - (samples[index] ?? 0)) < 1e-6, `sample ${index}`);
});

test('two tones at full scale stay below it, with less than one percent of distortion', () => {
  const out = limit(tones([440, 1000], 1, 3));
  assert.ok(peakOf(out) <= ceiling + 1e-6, `${peakOf(out)}`);
  const settled = out.subarray(rate, 2 * rate);
  assert.ok(peakOf(settled) > 0.8, `not quieter than needed: ${peakOf(settled)}`);
  const hard = tones([440, 1000], 1, 3)
    .map((value) => Math.max(-1, Math.min(1, value)))
    .subarray(rate, 2 * rate);
  assert.ok(distortion(settled, [440, 1000]) < -40, `${distortion(settled, [440, 1000])} dB`);
  assert.ok(distortion(hard, [440, 1000]) > -20, 'cutting off is much worse');
});

test('output never exceeds the ceiling, and the gain recovers completely', () => {
  const random = seededRandom(8);
  const wild = Float32Array.from({ length: block * 200 }, () => (random() - 0.5) * (random() < 0.01 ? 20 : 1.5));
  assert.ok(peakOf(limit(wild)) <= ceiling + 1e-6);
  const quiet = tones([440], 0.5, 4);
  quiet[10] = 9;
  assert.ok(peakOf(limit(quiet).subarray(3 * rate)) > 0.49);
});

const stereo = (length: number, value: (index: number) => number) =>
  Float32Array.from({ length: length * 2 }, (_, index) => value(Math.floor(index / 2)));

function readAll(line: MixerInput, from: number, blocks: number): Float32Array {
  const out = new Float32Array(blocks * block);
  for (let at = 0; at < blocks; at += 1) {
    line.read(from + at * block, out.subarray(at * block, (at + 1) * block), new Float32Array(block));
  }
  return out;
}

/** Largest step from one sample to the next. */
const step = (samples: Float32Array) =>
  samples.reduce((most, value, index) => Math.max(most, Math.abs(value - (samples[index - 1] ?? 0))), 0);

test('packets form continuous audio although the sender clock jitters', () => {
  const line = new MixerInput(0);
  for (let packet = 0; packet < 20; packet += 1)
    line.write(
      2000 + packet * 960 + (packet % 3) * 20,
      stereo(960, () => 0.5),
    );
  const out = readAll(line, 0, 18);
  assert.equal(peakOf(out.subarray(0, 2000)), 0);
  for (const value of out.subarray(2300, 18_000)) assert.equal(value, 0.5);
});

test('gaps, start and end are faded', () => {
  const line = new MixerInput(0);
  line.write(
    1000,
    stereo(4800, () => 0.5),
  );
  line.write(
    9000,
    stereo(4800, () => 0.5),
  );
  const out = readAll(line, 0, 16);
  assert.ok(step(out) < 0.003, `${step(out)}`);
  assert.equal(peakOf(out.subarray(5800, 9000)), 0);
  assert.equal(out[5000], 0.5);
  assert.equal(out[12_000], 0.5);
  assert.equal(out[13_800], 0);
});

test('the timely part of late samples is played; too late or far too early samples are dropped', () => {
  const line = new MixerInput(0);
  readAll(line, 0, 4);
  assert.equal(
    line.write(
      0,
      stereo(960, () => 0.5),
    ),
    -4096,
  );
  assert.equal(
    line.write(
      4000,
      stereo(960, () => 0.5),
    ),
    -96,
  );
  line.write(
    1_000_000,
    stereo(960, () => 0.5),
  );
  const out = readAll(line, 4096, 2);
  assert.equal(out[500], 0.5);
  assert.equal(peakOf(out.subarray(900)), 0);
});

test('a small jump back of the clock is cross-faded', () => {
  const line = new MixerInput(0);
  line.write(
    0,
    stereo(9600, () => 0.5),
  );
  line.write(
    8000,
    stereo(9600, () => -0.3),
  );
  const out = readAll(line, 0, 16);
  assert.ok(step(out) < 0.01, `${step(out)}`);
  assert.equal(out[9000], 0.5);
  assert.ok(Math.abs((out[10_000] ?? 0) + 0.3) < 1e-6);
});
