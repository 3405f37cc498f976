// Playout buffer: delays audio for jitter, reduces the delay again, and conceals drift and loss.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { frameSamples } from '../../../../../node/components/sip/audio/audio-format.ts';
import { PlayoutBuffer } from '../../../../../node/components/sip/audio/playout-buffer.ts';
import { concat, levelOf, tone } from '../../../../kit/media/tones.ts';
import { seededRandom } from '../../../../kit/seeded-random.ts';

const rate = 48_000;

type Network = {
  seconds: number;
  /** Transit time of packet `index` in milliseconds; undefined if it is lost. */
  delay: (index: number) => number | undefined;
  /** Drift of the sender clock against the local clock. */
  drift?: number;
  frequency?: number;
};

/** Plays a tone through the network. @returns the output */
function play({ seconds, delay, drift = 0, frequency = 400 }: Network) {
  const playoutBuffer = new PlayoutBuffer();
  const packets = Array.from({ length: seconds * 50 }, (_, index) => {
    const way = delay(index);
    const sent = index * 20 * (1 + drift);
    return way === undefined ? [] : [{ index, at: sent + way }];
  })
    .flat()
    .sort((a, b) => a.at - b.at);
  const heard: Float32Array[] = [];
  for (let block = 0; block * 20 < seconds * 1000; block += 1) {
    for (; packets[0] && packets[0].at <= block * 20; packets.shift()) {
      const { index, at } = packets[0];
      playoutBuffer.write(
        12_345 + index * frameSamples,
        tone(frequency, rate, frameSamples, { from: index * frameSamples }),
        Math.round(at * 48),
      );
    }
    const out = new Float32Array(frameSamples);
    playoutBuffer.read(block * frameSamples, out);
    heard.push(out);
  }
  return concat(heard);
}

const start = (samples: Float32Array) => samples.findIndex((sample) => Math.abs(sample) > 0.01) / 48;
/** Largest step from one sample to the next. */
const largestStep = (samples: Float32Array) =>
  samples.reduce((most, sample, index) => Math.max(most, Math.abs(sample - (samples[index - 1] ?? sample))), 0);

test('without jitter audio is played 50 ms after its arrival, unchanged', () => {
  const heard = play({ seconds: 3, delay: () => 7 });
  assert.ok(start(heard) >= 55 && start(heard) <= 60, `after ${start(heard)} ms`);
  const level = levelOf(heard.subarray(rate, 2 * rate), 400, rate);
  assert.ok(Math.abs(level - 0.3) < 0.001, `a level of ${level}`);
  assert.ok(largestStep(heard) < 0.02, `a step of ${largestStep(heard)}`);
});

test('jitter of 25 ms loses nothing', () => {
  const random = seededRandom(3);
  // No reordering here: the jitter buffer has ordered the packets.
  let last = 0;
  const delay = (index: number) => {
    last = Math.max(last, index * 20 + random() * 25);
    return last - index * 20;
  };
  const heard = play({ seconds: 4, delay });
  assert.ok(Math.abs(levelOf(heard.subarray(rate, 3 * rate), 400, rate) - 0.3) < 0.001);
});

test('the delay grows with the latency of the network, and shrinks again with it', () => {
  const heard = play({ seconds: 12, delay: (index) => (index >= 100 && index < 200 ? 140 : 5) });
  const level = (second: number) => levelOf(heard.subarray(second * rate, (second + 1) * rate), 400, rate);
  assert.ok(Math.abs(level(1) - 0.3) < 0.001);
  assert.ok(Math.abs(level(3) - 0.3) < 0.01, `while it is slow: ${level(3)}`);
  assert.ok(Math.abs(level(11) - 0.3) < 0.001);
  // At the end the latency is that of the start: the last packets are played 50 ms after their arrival.
  const phase = heard.subarray(11 * rate, 11 * rate + 4800);
  const expected = tone(400, rate, 4800, { from: 11 * rate - 55 * 48 });
  const error = phase.reduce((sum, sample, index) => sum + Math.abs(sample - (expected[index] ?? 0)), 0) / phase.length;
  assert.ok(error < 0.3, `mean error ${error}`);
  assert.ok(largestStep(heard) < 0.15, `a step of ${largestStep(heard)}`);
});

for (const drift of [0.0005, -0.0005]) {
  test(`a clock that is ${drift} off is followed for a minute`, () => {
    const heard = play({ seconds: 60, delay: () => 5, drift });
    for (const second of [10, 30, 58]) {
      const level = levelOf(heard.subarray(second * rate, second * rate + rate / 4), 400, rate);
      assert.ok(level > 0.25, `second ${second}: ${level}`);
    }
    assert.ok(largestStep(heard) < 0.15);
  });
}

test('one lost packet is concealed, a longer loss fades out, and silence stays silent', () => {
  const single = play({ seconds: 2, delay: (index) => (index % 25 === 20 ? undefined : 5) });
  assert.ok(levelOf(single.subarray(rate / 2, rate), 400, rate) > 0.27);
  assert.ok(largestStep(single) < 0.05, `a step of ${largestStep(single)}`);
  const long = play({ seconds: 3, delay: (index) => (index >= 50 && index < 100 ? undefined : 5) });
  assert.ok(long.subarray(1.2 * rate, 2 * rate).every((sample) => sample === 0));
  assert.ok(levelOf(long.subarray(2.2 * rate, 2.9 * rate), 400, rate) > 0.29);
  assert.ok(largestStep(long) < 0.05);
});

test('any timestamps leave it working', () => {
  const random = seededRandom(5);
  const playoutBuffer = new PlayoutBuffer();
  const out = new Float32Array(frameSamples);
  let timestamp = 0;
  for (let block = 0; block < 3000; block += 1) {
    timestamp += random() < 0.02 ? Math.round((random() - 0.5) * 2 ** 33) : frameSamples;
    playoutBuffer.write(
      timestamp,
      tone(400, rate, random() < 0.1 ? 5760 : frameSamples),
      block * frameSamples - Math.round(random() * 5000),
    );
    playoutBuffer.read(block * frameSamples, out);
    assert.ok(out.every((sample) => Math.abs(sample) <= 0.31));
  }
  let heard = false;
  for (let block = 3000; block < 3020; block += 1) {
    timestamp += frameSamples;
    playoutBuffer.write(timestamp, tone(400, rate, frameSamples), block * frameSamples);
    heard = playoutBuffer.read(block * frameSamples, out);
  }
  assert.ok(heard && levelOf(out, 400, rate) > 0.1);
});
