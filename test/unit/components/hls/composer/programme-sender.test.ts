// Programme sender: RTP of frames and mix as a receiver reads it, and key frames on request.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { programmePayloadTypes } from '../../../../../node/components/hls/composer/composer-messages.ts';
import { ProgrammeSender } from '../../../../../node/components/hls/composer/programme-sender.ts';
import { H264Depacketizer } from '../../../../../node/components/rtp/h264.ts';
import { isRtcp, parseRtp, parseSenderReports } from '../../../../../node/components/rtp/rtp-reader.ts';
import { eventually } from '../../../../kit/eventually.ts';
import { fieldsOf } from '../../../../kit/fields.ts';

const startCode = [0, 0, 0, 1];
const parameterSets = Buffer.from([...startCode, 0x67, 0x4d, 0x40, 0x1f, 9, ...startCode, 0x68, 9, 9]);
const destination = { ip: '127.0.0.1', port: 9, audio: 1, video: 2 };
/** A coded frame of one slice. */
const frame = (timestamp: number, key: boolean, size = 40) => ({
  data: Buffer.concat([Buffer.from([...startCode, key ? 0x65 : 0x61]), Buffer.alloc(size, 7)]),
  timestamp,
  key,
});

function open(t: TestContext, video: number | null = 2) {
  const packets: Buffer[] = [];
  const sender = new ProgrammeSender({
    destination: { ...destination, video },
    parameterSets,
    frameInterval: 40,
    began: 1_700_000_000_000,
    send: (packet) => packets.push(packet),
  });
  t.after(() => sender.close());
  const rtp = (ssrc: number) =>
    packets
      .filter((packet) => !isRtcp(packet))
      .flatMap((packet) => parseRtp(packet) ?? [])
      .filter((each) => each.ssrc === ssrc);
  return { sender, packets, rtp, reports: () => packets.filter(isRtcp).flatMap(parseSenderReports) };
}

test('frames become packets of a size that fits, in order, each key frame after its parameter sets', async (t) => {
  const { sender, rtp } = open(t);
  for (const each of [frame(0, true, 100_000), frame(1, false), frame(4, true)]) sender.addFrame(each);
  await eventually('a large frame is sent in bursts', () =>
    rtp(2).some(({ marker }, index, all) => marker && all.length === index + 1 && all.filter((each) => each.marker).length === 3),
  );
  const packets = rtp(2);
  assert.ok(packets.every(({ payload, payloadType }) => payload.length <= 1200 && payloadType === programmePayloadTypes.video));
  for (const [index, { sequence }] of packets.entries()) assert.equal(sequence, ((packets[0]?.sequence ?? 0) + index) & 0xffff);
  const depacketizer = new H264Depacketizer();
  const frames = packets.flatMap(({ payload, marker, timestamp }) => {
    assert.ok(depacketizer.add(payload));
    const taken = marker ? depacketizer.take() : undefined;
    if (marker) depacketizer.reset();
    return taken ? [{ ...taken, timestamp }] : [];
  });
  assert.deepEqual(fieldsOf(frames, 'key'), [true, false, true]);
  const first = frames[0]?.timestamp ?? 0;
  assert.deepEqual(
    frames.map(({ timestamp }) => (timestamp - first) >>> 0),
    [0, 3600, 4 * 3600],
  );
  const sets = Buffer.from([0, 0, 0, 5, 0x67, 0x4d, 0x40, 0x1f, 9, 0, 0, 0, 3, 0x68, 9, 9]);
  assert.deepEqual(frames[2]?.data.subarray(0, sets.length), sets);
});

test('the mix becomes Opus packets of 20 ms, and reports relate both streams to the same clock', (t) => {
  const { sender, rtp, reports } = open(t);
  const block = new Float32Array(1024).fill(0.1);
  // It starts at 1 s.
  for (let index = 0; index < 90; index += 1) sender.addAudio(block, block, 48_000 + index * 1024);
  const packets = rtp(1);
  assert.equal(packets.length, 96);
  for (const [index, { timestamp, marker, payloadType }] of packets.entries()) {
    assert.equal((timestamp - (packets[0]?.timestamp ?? 0)) >>> 0, index * 960);
    assert.deepEqual([marker, payloadType], [false, programmePayloadTypes.audio]);
  }
  sender.addFrame(frame(25, true));
  const times = reports().map(({ ssrc, time }) => [ssrc, Math.round(time - 1_700_000_000_000)]);
  assert.deepEqual(times, [
    [1, 1000],
    [1, 2000],
    [2, 1000],
  ]);
  assert.equal(reports()[0]?.timestamp, packets[0]?.timestamp);
});

test('a key frame follows the start and each request, at most one in half a second', (t) => {
  const { sender } = open(t);
  const keys = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => from + index).filter((number) => {
      const key = sender.needsKeyFrame(number);
      sender.addFrame(frame(number, key));
      return key;
    });
  assert.deepEqual(keys(100, 110), [100]);
  sender.requestKeyFrame(1);
  assert.deepEqual(keys(110, 120), []);
  sender.requestKeyFrame(2);
  sender.requestKeyFrame(2);
  assert.deepEqual(keys(120, 150), [120]);
  sender.requestKeyFrame(2);
  assert.deepEqual(keys(150, 151), [150]);
  sender.requestKeyFrame(2);
  assert.deepEqual(keys(151, 180), [163]);
});

test('a room without H.264 gets audio only, and requests nothing of the encoder', (t) => {
  const { sender, packets } = open(t, null);
  assert.equal(sender.needsKeyFrame(0), false);
  sender.addFrame(frame(0, true));
  assert.deepEqual(packets, []);
  sender.close();
  sender.close();
});
