// Jitter buffer: reordering, loss, duplicates, wrapping numbers and restarted sources.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JitterBuffer, type OrderedPacket } from '../../../../node/components/rtp/jitter-buffer.ts';
import { SequenceUnwrapper } from '../../../../node/components/rtp/sequence-unwrapper.ts';
import { TrackClock } from '../../../../node/components/rtp/track-clock.ts';

function setup(wait = 100) {
  const out: OrderedPacket[] = [];
  const buffer = new JitterBuffer({ wait, out: (packet) => out.push(packet) });
  const push = (sequence: number, now: number, timestamp = sequence * 10) =>
    buffer.push(
      {
        sequence: sequence & 0xffff,
        timestamp: timestamp >>> 0,
        payloadType: 96,
        ssrc: 1,
        marker: false,
        payload: Buffer.from([sequence & 0xff]),
      },
      now,
    );
  return { buffer, push, notified: () => out.map(({ payload, lost }) => [payload[0], lost]), out };
}

test('packets are output in order as soon as none is missing', () => {
  const { push, notified } = setup();
  for (const sequence of [5, 7, 8, 6, 9]) push(sequence, 0);
  assert.deepEqual(notified(), [
    [5, 0],
    [6, 0],
    [7, 0],
    [8, 0],
    [9, 0],
  ]);
});

test('a missing packet is waited for, then reported as lost with the next one; late and duplicate packets are dropped', () => {
  const { buffer, push, notified } = setup(100);
  push(1, 0);
  push(4, 10);
  buffer.drain(109);
  assert.deepEqual(notified(), [[1, 0]]);
  buffer.drain(110);
  assert.deepEqual(notified(), [
    [1, 0],
    [4, 2],
  ]);
  push(2, 111);
  push(4, 112);
  push(5, 113);
  assert.deepEqual(notified().at(-1), [5, 0]);
  assert.equal(notified().length, 3);
  assert.equal(buffer.lost, 2);
});

test('sequence numbers and timestamps continue after they wrap', () => {
  const { push, out, notified } = setup();
  push(65_535, 0, 2 ** 32 - 10);
  push(65_536, 1, 0);
  push(65_537, 2, 10);
  assert.equal(notified().length, 3);
  assert.deepEqual(
    out.map(({ timestamp }) => timestamp - (2 ** 32 - 10)),
    [0, 10, 20],
  );
});

test('a source that restarts with another sequence number is followed and reported as loss', () => {
  const { buffer, push, notified } = setup(100);
  push(1, 0);
  push(30_001, 10);
  buffer.drain(200);
  assert.deepEqual(notified(), [
    [1, 0],
    [30_001 & 0xff, 1],
  ]);
});

test('flush outputs all packets, and at most 1024 packets are buffered', () => {
  const { buffer, push, notified } = setup(1e9);
  push(1, 0);
  for (let sequence = 3; sequence < 1100; sequence += 1) push(sequence, 0);
  assert.ok(notified().length > 1000);
  push(1102, 0);
  buffer.flush();
  assert.equal(notified().length, 1 + (1100 - 3) + 1);
  assert.equal(buffer.lost, 3);
});

test('unwrapped numbers may decrease a little', () => {
  const sequenceUnwrapper = new SequenceUnwrapper(16);
  assert.deepEqual(
    [65_535, 2, 65_534, 3].map((value) => sequenceUnwrapper.next(value)),
    [65_535, 65_538, 65_534, 65_539],
  );
});

test('times follow arrival before the first sender report, then reports, unless these are implausible', () => {
  const clock = new TrackClock({ clockRate: 1000 });
  assert.equal(clock.timeOf(0), undefined);
  clock.arrived(0, 10_050);
  clock.arrived(100, 10_120);
  assert.equal(clock.timeOf(0), 10_020);
  clock.reported(0, 99_000);
  assert.equal(clock.timeOf(0), 10_020);
  clock.reported(0, 10_000);
  assert.equal(clock.timeOf(100), 10_100);
  clock.reported(1000, 11_008);
  assert.equal(clock.timeOf(0), 10_002);
});
