// Voice codecs: frequency response of the resampler, and quality of Opus and G.722 after encoding.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AudioDecoder } from '../../../../node/components/ffmpeg/audio-decoder.ts';
import { AvError } from '../../../../node/components/ffmpeg/ffmpeg.ts';
import { Resampler } from '../../../../node/components/ffmpeg/resampler.ts';
import { VoiceEncoder } from '../../../../node/components/ffmpeg/voice-encoder.ts';
import { concat, decibels, levelOf, tone } from '../../../kit/media/tones.ts';

const high = 48_000;

for (const low of [8000, 16_000]) {
  const half = low / 2;

  test(`48 kHz to ${low} Hz: the passband is flat up to 85 %, and the stopband is silent`, () => {
    const through = (frequency: number, heardAs = frequency) => {
      const resampler = new Resampler({ from: high, to: low });
      const out = resampler.convert(tone(frequency, high, high, { level: 1 }));
      resampler.close();
      assert.equal(out.length, low);
      return decibels(levelOf(out.subarray(200), heardAs, low));
    };
    for (const part of [0.0125, 0.075, 0.25, 0.5, 0.75, 0.84]) assert.ok(Math.abs(through(part * half)) < 0.3, String(part * half));
    for (const part of [1.12, 1.25, 1.75]) assert.ok(through(part * half, 2 * half - part * half) < -40, String(part * half));
  });

  test(`${low} Hz to 48 kHz: flat, without images`, () => {
    for (const part of [0.0125, 0.25, 0.5, 0.75, 0.84]) {
      const frequency = part * half;
      const resampler = new Resampler({ from: low, to: high });
      const out = resampler.convert(tone(frequency, low, low, { level: 1 })).subarray(1000);
      resampler.close();
      assert.ok(Math.abs(decibels(levelOf(out, frequency, high))) < 0.3, String(frequency));
      assert.ok(decibels(levelOf(out, low - frequency, high)) < -45, String(frequency));
    }
  });
}

test('blocks of any length are converted completely and without a seam', () => {
  const resampler = new Resampler({ from: 8000, to: high });
  const blocks = [20, 160, 80, 240, 160, 20, 480].map((count, index, counts) => {
    const from = counts.slice(0, index).reduce((sum, one) => sum + one, 0);
    const out = resampler.convert(tone(300, 8000, count, { from }));
    assert.equal(out.length, count * 6);
    return out;
  });
  const all = concat(blocks).subarray(200);
  assert.ok(all.every((sample, index) => index === 0 || Math.abs(sample - (all[index - 1] ?? 0)) < 0.0125));
  resampler.close();
  resampler.close();
});

for (const { encoding, codec, rate } of [
  { encoding: 'opus-near', codec: 'opus', rate: 48_000 },
  { encoding: 'opus-far', codec: 'opus', rate: 48_000 },
  { encoding: 'g722', codec: 'g722', rate: 16_000 },
] as const) {
  test(`${encoding}: 20 ms in, 20 ms out, the same tone`, () => {
    const [encoder, decoder] = [new VoiceEncoder({ encoding }), new AudioDecoder({ codec, channels: 1 })];
    const blocks = Array.from({ length: 100 }, (_, index) => {
      const packet = encoder.encode(tone(1000, rate, rate / 50, { from: (index * rate) / 50 }));
      assert.ok(packet.length > 10 && packet.length < 400);
      return decoder.decode(packet);
    });
    assert.ok(blocks.every(({ length }) => length === rate / 50));
    assert.ok(Math.abs(decibels(levelOf(concat(blocks).subarray(rate / 2), 1000, rate) / 0.3)) < 1);
    assert.throws(() => encoder.encode(new Float32Array(3)), RangeError);
    encoder.close();
    decoder.close();
    decoder.close();
  });
}

test('opus-mix: both channels keep their tones', () => {
  const [encoder, decoder] = [new VoiceEncoder({ encoding: 'opus-mix' }), new AudioDecoder({ codec: 'opus', channels: 2 })];
  const blocks = Array.from({ length: 100 }, (_, index) => {
    const [left, right] = [440, 1000].map((frequency) => tone(frequency, high, 960, { from: index * 960 }));
    return decoder.decode(encoder.encode(Float32Array.from({ length: 1920 }, (__, at) => (at % 2 === 0 ? left : right)?.[at >> 1] ?? 0)));
  });
  const samples = concat(blocks).subarray(high);
  const channel = (number: number) => samples.filter((_, index) => index % 2 === number);
  for (const [number, own, other] of [
    [0, 440, 1000],
    [1, 1000, 440],
  ] as const) {
    assert.ok(levelOf(channel(number), own, high) > 0.27, `${own} Hz`);
    assert.ok(levelOf(channel(number), other, high) < 0.02, `${other} Hz`);
  }
  encoder.close();
  decoder.close();
});

test('invalid Opus is rejected, and the following packets are decoded', () => {
  const [encoder, decoder] = [
    new VoiceEncoder({ encoding: 'opus-near', bandwidth: 4000 }),
    new AudioDecoder({ codec: 'opus', channels: 1 }),
  ];
  for (const bytes of [Buffer.alloc(0), Buffer.of(255, 255, 255), Buffer.alloc(1400, 0x55)])
    assert.throws(() => decoder.decode(bytes), AvError);
  const blocks = Array.from({ length: 50 }, (_, index) => decoder.decode(encoder.encode(tone(700, high, 960, { from: index * 960 }))));
  assert.ok(levelOf(concat(blocks).subarray(9600), 700, high) > 0.27);
  encoder.close();
  decoder.close();
});
