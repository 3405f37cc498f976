// DTMF as RTP events: reception despite loss and reordering, and sending.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DigitReceiver,
  DigitSender,
  digitToEvent,
  parseEvent,
  type TelephoneEventPacket,
} from '../../../../../node/components/sip/audio/telephone-event.ts';
import { fieldsOf } from '../../../../kit/fields.ts';
import { seededRandom } from '../../../../kit/seeded-random.ts';

const step = 160;

/** Packets of these digits, step by step, with audio in between. */
function send(digits: readonly { digit: string; steps: number; gap?: number }[], { from = 1000, step: size = step } = {}) {
  const sender = new DigitSender();
  const sent: string[] = [];
  for (const { digit, steps, gap = 4 } of digits) sender.add({ event: digitToEvent(digit) ?? -1, steps, gap }, () => sent.push(digit));
  const packets: TelephoneEventPacket[][] = [];
  for (let index = 0; sender.waiting > 0 || index < 4 || packets.at(-1)?.length; index += 1)
    packets.push(sender.next((from + index * size) % 2 ** 32, size) ?? []);
  return { packets, sent };
}

function receive(packets: readonly TelephoneEventPacket[], clockRate = 8000): string[] {
  const reported: string[] = [];
  const receiver = new DigitReceiver({ clockRate, onDigit: (digit, duration) => reported.push(`${digit} ${duration}`) });
  for (const packet of packets) receiver.push(packet, 0);
  receiver.tick(10_000);
  return reported;
}

test('a digit has one timestamp, a growing duration, a marker first, and three end packets', () => {
  const { packets, sent } = send([{ digit: '5', steps: 4 }]);
  const flat = packets.flat();
  assert.deepEqual(
    flat.map(({ payload, timestamp, marker }) => ({ ...parseEvent(payload), timestamp, marker })),
    [
      { event: 5, end: false, duration: 160, timestamp: 1000, marker: true },
      { event: 5, end: false, duration: 320, timestamp: 1000, marker: false },
      { event: 5, end: false, duration: 480, timestamp: 1000, marker: false },
      { event: 5, end: true, duration: 640, timestamp: 1000, marker: false },
      { event: 5, end: true, duration: 640, timestamp: 1000, marker: false },
      { event: 5, end: true, duration: 640, timestamp: 1000, marker: false },
    ],
  );
  assert.deepEqual(sent, ['5']);
});

test('digits are separated by a pause and reported once with their duration', () => {
  const { packets } = send([...'19#*AD'].map((digit) => ({ digit, steps: 5 })));
  assert.deepEqual(
    receive(packets.flat()),
    [...'19#*AD'].map((digit) => `${digit} 100`),
  );
  // Four steps of pause: two with repeated end packets, two with audio.
  assert.deepEqual(fieldsOf(packets.slice(5, 9), 'length'), [1, 1, 0, 0]);
});

test('the same digit twice is reported twice, also if timestamps wrap', () => {
  const { packets } = send(
    [
      { digit: '7', steps: 5 },
      { digit: '7', steps: 6 },
    ],
    { from: 2 ** 32 - 900 },
  );
  assert.deepEqual(receive(packets.flat()), ['7 100', '7 120']);
});

test('late, duplicate and lost packets do not change the digits', () => {
  const random = seededRandom(7);
  const { packets } = send([...'0123456789'].map((digit) => ({ digit, steps: 8, gap: 10 })));
  const flat = packets.flat();
  const digits = [...'0123456789'].map((digit) => `${digit} 160`);
  assert.deepEqual(receive(flat.flatMap((packet) => [packet, packet])), digits);
  const ends = flat.filter(({ payload }) => parseEvent(payload)?.end);
  assert.deepEqual(receive(ends), digits);
  const behind = flat.flatMap((packet, index) => (random() < 0.3 && index > 2 ? [packet, flat[index - 2] ?? packet] : [packet]));
  assert.deepEqual(receive(behind), digits);
  // If all three end packets are lost, the next digit or a timeout ends the digit.
  const withoutEnds = flat.filter(({ payload }) => !parseEvent(payload)?.end);
  assert.deepEqual(
    receive(withoutEnds),
    digits.map((digit) => digit.replace('160', '140')),
  );
});

test('a long digit continues in segments and is reported once', () => {
  // At the clock rate of Opus a segment has 1.36 seconds.
  const { packets } = send([{ digit: '#', steps: 200 }], { step: 960 });
  const flat = packets.flat();
  assert.ok(flat.every(({ payload }) => (parseEvent(payload)?.duration ?? 0) <= 0xffff));
  assert.equal(new Set(flat.map(({ timestamp }) => timestamp)).size, 3);
  assert.deepEqual(receive(flat, 48_000), ['# 4000']);
  const lossy = flat.filter((_, index) => index % 3 !== 1);
  assert.deepEqual(receive(lossy, 48_000), ['# 4000']);
});

test('a digit half a timestamp range later, or of a restarted source, is reported', () => {
  const digit = (event: number, timestamp: number) => ({ payload: Buffer.of(event, 0x8a, 3, 32), timestamp, marker: true });
  // At the clock rate of Opus half the range is 12.4 hours.
  for (const second of [(1000 + 13 * 3600 * 48_000) % 2 ** 32, 2 ** 32 - 5_000_000]) {
    assert.deepEqual(
      receive([digit(1, 1000), digit(2, second), digit(2, second), digit(1, second - 2000)], 48_000).map((reported) => reported[0]),
      ['1', '2'],
      String(second),
    );
  }
  assert.deepEqual(receive([digit(1, 5_000_000), digit(2, 1000)], 8000).length, 2);
});

test('an invalid digit is rejected', () => {
  const packet = (payload: Buffer) => ({ payload, timestamp: 1, marker: true });
  assert.deepEqual(receive([packet(Buffer.alloc(3)), packet(Buffer.of(16, 0x80, 0, 160)), packet(Buffer.of(66, 0x80, 0, 160))]), []);
  assert.equal(digitToEvent('x'), undefined);
  assert.equal(digitToEvent(''), undefined);
  assert.equal(digitToEvent('12'), undefined);
  assert.equal(digitToEvent('d'), 15);
});
