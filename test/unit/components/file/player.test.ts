// Player: sends samples at their times, with a mocked clock.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Clock, type PlayOptions, play } from '../../../../node/components/file/player.ts';
import { type MediaSample, readH264Samples, readOpusSamples } from '../../../../node/components/file/samples.ts';
import { fieldsOf } from '../../../kit/fields.ts';
import { oggFile, opusPacket } from '../../../kit/media/ogg-file.ts';

type Sent = { at: number; packet: Buffer };

/** Time only advances during sleep(). */
function setup(changes: Partial<PlayOptions> = {}) {
  const sent: Sent[] = [];
  const time = { now: 1000 };
  const stop = new AbortController();
  const clock: Clock = {
    now: () => time.now,
    wallTime: () => 1_700_000_000_000 + time.now,
    sleep: async (wait, signal) => {
      signal.throwIfAborted();
      time.now += wait;
    },
  };
  const options: PlayOptions = {
    clock,
    clockRate: 48_000,
    payloadType: 108,
    ssrc: 7,
    markLast: false,
    send: (packet) => sent.push({ at: time.now, packet }),
    signal: stop.signal,
    ...changes,
  };
  return { sent, time, stop, options };
}

const isReport = ({ packet }: Sent) => packet[1] === 200;
const rtpOf = (sent: readonly Sent[]) =>
  sent
    .filter((each) => !isReport(each))
    .map(({ at, packet }) => ({
      at,
      marker: ((packet[1] ?? 0) & 0x80) !== 0,
      sequence: packet.readUInt16BE(2),
      timestamp: packet.readUInt32BE(4),
      payload: packet.subarray(12),
    }));

async function* bytesOf(bytes: Buffer, step = 1000): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += step) yield bytes.subarray(at, at + step);
}

test('Opus is sent every 20 ms with consecutive timestamps, and playing ends after the last packet', async () => {
  const { sent, time, options } = setup();
  const packets = Array.from({ length: 100 }, (_, index) => opusPacket(80, index));
  await play(readOpusSamples(bytesOf(oggFile(packets))), options);
  const rtp = rtpOf(sent);
  assert.deepEqual(fieldsOf(rtp, 'payload'), packets);
  const [first] = rtp;
  assert.ok(first);
  for (const [index, { at, timestamp, sequence, marker }] of rtp.entries()) {
    assert.equal(at, 1000 + index * 20);
    assert.equal((timestamp - first.timestamp) >>> 0, index * 960);
    assert.equal((sequence - first.sequence) & 0xffff, index);
    assert.equal(marker, index === 0);
  }
  assert.equal(time.now, 3000);
});

test('a sender report per second contains the time of a timestamp and the counters', async () => {
  const { sent, options } = setup();
  await play(readOpusSamples(bytesOf(oggFile(Array.from({ length: 150 }, (_, index) => opusPacket(80, index))))), options);
  const reports = sent.filter(isReport);
  assert.deepEqual(fieldsOf(reports, 'at'), [1000, 2000, 3000]);
  const rtp = rtpOf(sent);
  for (const { at, packet } of reports) {
    const seconds = packet.readUInt32BE(8) - 2_208_988_800 + packet.readUInt32BE(12) / 2 ** 32;
    assert.ok(Math.abs(seconds * 1000 - (1_700_000_000_000 + at)) < 1);
    assert.equal(packet.readUInt32BE(16), rtp.find((each) => each.at === at)?.timestamp);
    assert.equal(packet.readUInt32BE(20), (at - 1000) / 20 + 1);
    assert.equal(packet.readUInt32BE(24), ((at - 1000) / 20 + 1) * 80);
  }
});

test('frames are sent at the frame rate with the marker on their last packet', async () => {
  const { sent, time, options } = setup({ clockRate: 90_000, markLast: true });
  const frame = (size: number) => Buffer.concat([Buffer.from([0, 0, 0, 1, 0x65, 0x80]), Buffer.alloc(size, 3)]);
  await play(readH264Samples(bytesOf(Buffer.concat([frame(3000), frame(10), frame(10)])), 25), options);
  const rtp = rtpOf(sent);
  assert.deepEqual(fieldsOf(rtp, 'at', 'marker'), [
    [1000, false],
    [1000, false],
    [1000, true],
    [1040, true],
    [1080, true],
  ]);
  assert.equal(time.now, 1120);
});

test('a blocked process shifts the following samples instead of sending a burst', async () => {
  const { sent, time, options } = setup();
  async function* samples(): AsyncGenerator<MediaSample> {
    for (let index = 0; index < 10; index += 1) {
      if (index === 5) time.now += 10_000;
      yield { timestamp: index * 960, duration: 960, payloads: [Buffer.from([index])] };
    }
  }
  await play(samples(), options);
  const times = rtpOf(sent).map(({ at }) => at);
  for (let index = 6; index < 10; index += 1) assert.equal((times[index] ?? 0) - (times[index - 1] ?? 0), 20);
});

test('samples are read when they are due and not earlier', async () => {
  const { time, options } = setup();
  const taken: number[] = [];
  async function* samples(): AsyncGenerator<MediaSample> {
    for (let index = 0; index < 50; index += 1) {
      taken.push(time.now);
      yield { timestamp: index * 960, duration: 960, payloads: [Buffer.from([1])] };
    }
  }
  await play(samples(), options);
  for (const [index, at] of taken.entries()) assert.equal(at, 1000 + Math.max(0, index - 1) * 20);
});

test('a large frame is sent in portions', async () => {
  const { sent, options } = setup();
  async function* samples(): AsyncGenerator<MediaSample> {
    yield { timestamp: 0, duration: 96_000, payloads: Array.from({ length: 100 }, () => Buffer.from([1])) };
  }
  await play(samples(), options);
  const perMoment = Map.groupBy(rtpOf(sent), ({ at }) => at);
  assert.deepEqual(fieldsOf([...perMoment.values()], 'length'), [32, 32, 32, 4]);
});

test('abort ends playing at once and closes the source', async () => {
  const { stop, options } = setup();
  let released = false;
  async function* samples(): AsyncGenerator<MediaSample> {
    try {
      for (let index = 0; ; index += 1) {
        if (index === 3) stop.abort();
        yield { timestamp: index * 960, duration: 960, payloads: [Buffer.from([1])] };
      }
    } finally {
      released = true;
    }
  }
  await assert.rejects(play(samples(), options), { name: 'AbortError' });
  assert.equal(released, true);
});

test('playing no samples resolves at once', async () => {
  const { sent, time, options } = setup();
  await play(readOpusSamples(bytesOf(Buffer.from('nothing'))), options);
  assert.deepEqual([sent, time.now], [[], 1000]);
});
