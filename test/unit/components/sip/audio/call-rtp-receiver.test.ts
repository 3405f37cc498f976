// RTP receiver of a call: plays audio, drops everything else and survives hostile packets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rtpPacket } from '../../../../../node/components/rtp/rtp-writer.ts';
import { frameSamples } from '../../../../../node/components/sip/audio/audio-format.ts';
import { CallRtpReceiver } from '../../../../../node/components/sip/audio/call-rtp-receiver.ts';
import { encodeG711 } from '../../../../../node/components/sip/audio/g711.ts';
import type { NegotiatedMedia } from '../../../../../node/components/sip/audio/session.ts';
import { ByteFuzzer } from '../../../../kit/fuzzer.ts';
import { concat, levelOf, tone } from '../../../../kit/media/tones.ts';

const remote = { ip: '192.0.2.1', port: 4000 };
const agreed = (change: Partial<NegotiatedMedia> = {}): NegotiatedMedia => ({
  codec: 'PCMA',
  payloadType: 8,
  dtmfPayloadType: 101,
  comfortNoisePayloadType: undefined,
  remote,
  keys: undefined,
  direction: 'sendrecv',
  ...change,
});

function open(change: Partial<NegotiatedMedia> = {}) {
  const reported: string[] = [];
  const listener = { onDigit: (digit: string) => reported.push(digit), onSilent: () => reported.push('silent') };
  const receiver = new CallRtpReceiver({ listener, silence: 1000, allowPrivate: true });
  receiver.agree(agreed(change), 0);
  return { receiver, reported };
}

const voice = (index: number, { ssrc = 1, payloadType = 8, frequency = 500 } = {}) =>
  rtpPacket(
    { ssrc, payloadType, sequence: 65_500 + index, timestamp: index * 160, marker: index === 0 },
    encodeG711('PCMA', tone(frequency, 8000, 160, { from: index * 160 })),
  );

/** Plays blocks, with packets before each of them. */
function play(
  receiver: CallRtpReceiver,
  blocks: number,
  packets: (index: number) => readonly Buffer[],
  { from = remote, first = 0 } = {},
): Float32Array {
  const heard: Float32Array[] = [];
  for (let index = first; index < first + blocks; index += 1) {
    for (const packet of packets(index)) receiver.push(packet, from, index * 20);
    const block = new Float32Array(frameSamples);
    if (!receiver.read((index + 1) * frameSamples, block)) block.fill(0);
    receiver.tick(index * 20);
    heard.push(block);
  }
  return concat(heard);
}

test('audio is played, also if packets are reordered', () => {
  const { receiver } = open();
  const heard = play(receiver, 100, (index) => (index % 2 === 0 ? [] : [voice(index), voice(index - 1)]));
  assert.ok(levelOf(heard.subarray(24_000, 72_000), 500, 48_000) > 0.29);
  receiver.close();
});

test('comfort noise and digits leave no gap to wait for', () => {
  const { receiver, reported } = open();
  const digit = (index: number) =>
    rtpPacket(
      { ssrc: 1, payloadType: 101, sequence: 65_500 + index, timestamp: 50 * 160, marker: index === 50 },
      Buffer.of(5, index >= 54 ? 0x8a : 0x0a, 0, 160),
    );
  const noise = (index: number) =>
    rtpPacket({ ssrc: 1, payloadType: 13, sequence: 65_500 + index, timestamp: index * 160, marker: false }, Buffer.of(70));
  const heard = play(receiver, 100, (index) => [
    index >= 50 && index < 57 ? digit(index) : index >= 57 && index < 60 ? noise(index) : voice(index),
  ]);
  assert.deepEqual(reported, ['5']);
  assert.ok(levelOf(heard.subarray(62 * 960 + 4000, 98 * 960), 500, 48_000) > 0.29);
  receiver.close();
});

test('packets of other payload types, or of another source in between, are dropped', () => {
  const { receiver } = open();
  const heard = play(receiver, 100, (index) => [
    voice(index),
    voice(index, { payloadType: 0, frequency: 1500 }),
    ...(index % 10 === 5 ? [voice(index, { ssrc: 9, frequency: 2500 })] : []),
  ]);
  const part = heard.subarray(24_000, 72_000);
  assert.ok(levelOf(part, 500, 48_000) > 0.29);
  assert.ok(levelOf(part, 1500, 48_000) < 0.002 && levelOf(part, 2500, 48_000) < 0.002);
  receiver.close();
});

test('another source that continues to send replaces the first', () => {
  const { receiver } = open();
  play(receiver, 50, (index) => [voice(index)]);
  const heard = play(receiver, 60, (index) => [voice(index, { ssrc: 2, frequency: 900 })], { first: 50 });
  assert.ok(levelOf(heard.subarray(20_000, 50_000), 900, 48_000) > 0.29);
  receiver.close();
});

test('packets of a hostile source in between are dropped', () => {
  const { receiver } = open();
  play(receiver, 10, (index) => [voice(index)]);
  play(receiver, 50, (index) => [voice(index, { ssrc: 3, frequency: 900 })], { from: { ip: '203.0.113.5', port: 4000 }, first: 10 });
  assert.deepEqual(receiver.target, remote);
  receiver.close();
});

test('silence is reported once, again after new packets, and never without expected audio', () => {
  const { receiver, reported } = open();
  play(receiver, 200, () => []);
  assert.deepEqual(reported, ['silent']);
  play(receiver, 200, (index) => (index < 210 ? [voice(index)] : []), { first: 200 });
  assert.deepEqual(reported, ['silent', 'silent']);
  receiver.agree(agreed({ direction: 'inactive' }), 8000);
  play(receiver, 200, () => [], { first: 400 });
  assert.equal(reported.length, 2);
  receiver.close();
  receiver.close();
});

for (const codec of ['PCMA', 'opus', 'G722'] as const) {
  for (const ciphered of [false, true]) {
    test(`${codec}${ciphered ? ' with SRTP' : ''}: hostile packets are dropped, and the following audio is played`, () => {
      const key = Buffer.alloc(30, 3).toString('base64');
      const keys = ciphered ? ({ suite: 'AES_CM_128_HMAC_SHA1_80', local: key, remote: key } as const) : undefined;
      const { receiver } = open({ codec, keys });
      const byteFuzzer = new ByteFuzzer(codec.length + (ciphered ? 100 : 0));
      const samples = Array.from({ length: 20 }, (_, index) => voice(index, { payloadType: index % 5 === 0 ? 101 : 8 }));
      const block = new Float32Array(frameSamples);
      for (let index = 0; index < 20_000; index += 1) {
        receiver.push(byteFuzzer.mutate(samples), index % 3 === 0 ? { ip: '203.0.113.5', port: index % 65_535 } : remote, index);
        if (index % 20 === 0) {
          receiver.read((index / 20 + 1) * frameSamples, block);
          receiver.tick(index);
          assert.ok(block.every((sample) => Number.isFinite(sample) && Math.abs(sample) <= 4));
        }
      }
      if (codec === 'PCMA' && !ciphered) {
        const heard = play(receiver, 100, (index) => [voice(index, { ssrc: 55 })], { first: 1000 });
        assert.ok(levelOf(heard.subarray(48_000, 90_000), 500, 48_000) > 0.29);
      }
      receiver.close();
    });
  }
}
