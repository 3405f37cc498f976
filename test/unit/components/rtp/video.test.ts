// Video depacketizers for VP8, VP9 and H.264: frames with and without loss, and their headers.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  describeFrame,
  type EncodedFrame,
  FrameAssembler,
  maxUnits,
  type RtpDepacketizer,
} from '../../../../node/components/rtp/frame-assembler.ts';
import { H264Depacketizer } from '../../../../node/components/rtp/h264.ts';
import { opusDuration } from '../../../../node/components/rtp/opus.ts';
import {
  isRtcp,
  parsePictureLosses,
  parseRtp,
  parseSenderReports,
  pictureLossIndication,
} from '../../../../node/components/rtp/rtp-reader.ts';
import { rtpPacket, senderReport } from '../../../../node/components/rtp/rtp-writer.ts';
import { Vp8Depacketizer } from '../../../../node/components/rtp/vp8.ts';
import { Vp9Depacketizer } from '../../../../node/components/rtp/vp9.ts';
import { fieldsOf } from '../../../kit/fields.ts';

function assemble(format: RtpDepacketizer) {
  const frames: (EncodedFrame & { timestamp: number })[] = [];
  let asked = 0;
  const assembler = new FrameAssembler({ format, onFrame: (frame) => frames.push(frame), onKeyNeeded: () => (asked += 1) });
  const push = (timestamp: number, payload: number[] | Buffer, marker = true, lost = 0) =>
    assembler.push({ timestamp, marker, payload: Buffer.from(payload), lost, arrival: 0 });
  return { push, frames, data: () => frames.map(({ data }) => [...data]), asked: () => asked };
}

const vp8Key = [0x00, 0x00, 0x00, 0x9d, 0x01, 0x2a, 0x80, 0x02, 0x68, 0x01];
const vp8Delta = [0x01, 2, 3, 4];

describe('VP8', () => {
  test('packets become frames, for any descriptor', () => {
    const { push, data, frames } = assemble(new Vp8Depacketizer());
    push(1, [0x10, ...vp8Key], false);
    push(1, [0x00, 7, 8]);
    push(2, [0x90, 0xf0, 0x81, 0x02, 0x03, 0x04, ...vp8Delta]);
    assert.deepEqual(data(), [[...vp8Key, 7, 8], vp8Delta]);
    assert.deepEqual(fieldsOf(frames, 'key'), [true, false]);
    assert.deepEqual(new Vp8Depacketizer().describe({ data: Buffer.from(vp8Key), key: true }), { width: 640, height: 360 });
  });

  test('after a loss no frame is output before the next key frame, which is requested', () => {
    const { push, data, asked } = assemble(new Vp8Depacketizer());
    push(1, [0x10, ...vp8Key]);
    push(2, [0x00, 9, 9], true, 1);
    push(3, [0x10, ...vp8Delta]);
    assert.equal(data().length, 1);
    assert.ok(asked() >= 2);
    push(4, [0x10, ...vp8Key]);
    push(5, [0x10, ...vp8Delta]);
    assert.equal(data().length, 3);
  });

  test('a frame without a size has no description', () => {
    const data = Buffer.from(vp8Key.with(6, 0).with(7, 0));
    assert.equal(describeFrame(new Vp8Depacketizer(), { data, key: true }), undefined);
  });

  test('a frame with too many packets is dropped, and the next one is output', () => {
    const { push, data } = assemble(new Vp8Depacketizer());
    push(1, [0x10, ...vp8Key], false);
    for (let count = 0; count < 10_000; count += 1) push(1, [0x00, 1], false);
    push(1, [0x00, 1]);
    push(2, [0x10, ...vp8Key]);
    assert.deepEqual(data(), [vp8Key]);
  });

  test('a frame without its last packet counts as lost, and padding is ignored', () => {
    const { push, data } = assemble(new Vp8Depacketizer());
    push(1, [0x10, ...vp8Key]);
    push(1, []);
    push(2, [0x10, ...vp8Delta], false);
    push(3, [0x10, ...vp8Delta]);
    assert.equal(data().length, 1);
  });

  test('a stream joined inside of a frame starts with the next key frame', () => {
    const { push, data } = assemble(new Vp8Depacketizer());
    push(1, [0x00, 5, 5, 5]);
    push(2, [0x10, ...vp8Delta]);
    push(3, [0x10, ...vp8Key]);
    assert.deepEqual(data(), [vp8Key]);
  });
});

describe('VP9', () => {
  // Profile 0, key frame, shown, sync code, BT.601, 640x360.
  const header = [0x82, 0x49, 0x83, 0x42, 0x20, 0x27, 0xf0, 0x16, 0x70];

  test('descriptors with picture ids, layers, references and structures are parsed', () => {
    const { push, data, frames } = assemble(new Vp9Depacketizer());
    // I, L, B, E, V: picture id of 15 bits, layer indices with TL0PICIDX, a structure of one layer with a resolution and one frame.
    push(1, [0xae, 0x81, 0x02, 0x00, 0x07, 0x18, 0x02, 0x80, 0x01, 0x68, 0x01, 0x04, 0x01, ...header]);
    // I, P, F, B, E: two references.
    push(2, [0xdc, 0x03, 0x03, 0x02, 1, 2, 3]);
    assert.deepEqual(data(), [header, [1, 2, 3]]);
    assert.deepEqual(fieldsOf(frames, 'key'), [true, false]);
    assert.deepEqual(new Vp9Depacketizer().describe({ data: Buffer.from(header), key: true }), { width: 640, height: 360 });
  });

  test('layers of one frame become one superframe with an index', () => {
    const { push, data } = assemble(new Vp9Depacketizer());
    push(1, [0x2c, 0x00, 0x01, ...header], false);
    push(1, [0x6c, 0x02, 0x01, 5, 6]);
    const marker = 0xc0 | (3 << 3) | 1;
    assert.deepEqual(data(), [[...header, 5, 6, marker, 9, 0, 0, 0, 2, 0, 0, 0, marker]]);
  });

  test('more layers than a superframe can have yield no frame', () => {
    const { push, data } = assemble(new Vp9Depacketizer());
    push(1, [0x2c, 0x00, 0x01, ...header], false);
    for (let count = 0; count < 7; count += 1) push(1, [0x6c, 0x02, 0x01, 5], false);
    push(1, [0x6c, 0x02, 0x01, 5]);
    assert.equal(data().length, 0);
  });
});

describe('H.264', () => {
  // 640x360 (368 lines, 8 cropped), constrained baseline, as x264 writes it.
  const sps = [
    0x67, 0x42, 0xc0, 0x1e, 0xd9, 0x00, 0xa0, 0x2f, 0xf9, 0x66, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00, 0x03, 0x03, 0xc0, 0xf1,
    0x62, 0xe4, 0x80,
  ];
  const pps = [0x68, 0xcb, 0x83, 0xcb, 0x20];
  const idr = [0x65, 1, 2, 3];
  const length = (unit: readonly number[]) => [0, 0, 0, unit.length, ...unit];
  const stapA = [0x78, 0, sps.length, ...sps, 0, pps.length, ...pps];

  test('single, aggregated and fragmented units become one frame with lengths', () => {
    const format = new H264Depacketizer();
    const { push, data, frames } = assemble(format);
    push(1, stapA, false);
    push(1, [0x7c, 0x85, 1], false);
    push(1, [0x7c, 0x05, 2], false);
    push(1, [0x7c, 0x45, 3]);
    assert.deepEqual(data(), [[...length(sps), ...length(pps), ...length(idr)]]);
    assert.equal(frames[0]?.key, true);
    const { width, height, codecPrivate } = format.describe() ?? {};
    assert.deepEqual([width, height], [640, 360]);
    assert.deepEqual([...(codecPrivate ?? [])], [1, 0x42, 0xc0, 0x1e, 0xff, 0xe1, 0, sps.length, ...sps, 1, 0, pps.length, ...pps]);
  });

  test('a later key frame without parameter sets gets the known ones', () => {
    const { push, data } = assemble(new H264Depacketizer());
    push(1, stapA, false);
    push(1, idr);
    push(2, idr);
    assert.deepEqual(data()[1], data()[0]);
  });

  test('invalid aggregates and fragments without a start yield no frame', () => {
    const { push, data } = assemble(new H264Depacketizer());
    push(1, stapA, false);
    push(1, idr);
    push(2, [0x78, 0, 200, 1, 2]);
    push(3, stapA, false);
    push(3, [0x7c, 0x45, 3]);
    push(4, [0x7a, 1, 2, 3]);
    assert.equal(data().length, 1);
  });

  test('a frame with too many units is dropped at the first excess packet, and the next one is output', () => {
    const { push, frames } = assemble(new H264Depacketizer());
    const perPacket = 400;
    const small = [0x78, ...Array.from({ length: perPacket }, () => [0, 1, 0x41]).flat()];
    const largest = (timestamp: number, packets: number) => {
      push(timestamp, stapA, false);
      push(timestamp, idr, false);
      for (let count = 0; count < packets; count += 1) push(timestamp, small, false);
      push(timestamp, [0x41, 1]);
    };
    largest(1, Math.floor(maxUnits / perPacket) - 1);
    largest(2, 500);
    largest(3, 0);
    assert.deepEqual(fieldsOf(frames, 'timestamp'), [1, 3]);
  });
});

test('the duration of Opus packets is read from their first bytes', () => {
  const lengths = [[], [0x00], [0x18, 0], [0x78], [0xfc], [0xfb, 0x03], [0x80]].map((bytes) => opusDuration(Buffer.from(bytes)));
  assert.deepEqual(lengths, [0, 480, 2880, 960, 960, 2880, 120]);
});

test('RTP with CSRCs, extensions and padding is parsed, and truncated RTP is rejected', () => {
  const header = { payloadType: 96, sequence: 1, timestamp: 2, ssrc: 3, marker: true };
  const plain = rtpPacket(header, Buffer.from([1, 2, 3]));
  assert.deepEqual(parseRtp(plain), { ...header, payload: Buffer.from([1, 2, 3]) });
  const rest = Buffer.concat([Buffer.alloc(4), Buffer.from([0xbe, 0xde, 0, 1]), Buffer.alloc(4), Buffer.from([9, 9, 0, 2])]);
  const full = Buffer.concat([plain.subarray(0, 12), rest]);
  full[0] = 0x80 | 0x20 | 0x10 | 1;
  assert.deepEqual([...(parseRtp(full)?.payload ?? [])], [9, 9]);
  for (let size = 0; size < full.length; size += 1) parseRtp(full.subarray(0, size));
  assert.equal(parseRtp(plain.subarray(0, 11)), undefined);
  assert.equal(parseRtp(full.subarray(0, 18)), undefined);
});

test('sender reports are found in compound packets, and picture loss indications are compound packets', () => {
  const report = senderReport({ ssrc: 5, time: 1_700_000_000_250, timestamp: 77, packets: 1, octets: 1 });
  const compound = Buffer.concat([pictureLossIndication(1, 2), report]);
  assert.ok(isRtcp(compound));
  const [found] = parseSenderReports(compound);
  assert.deepEqual([found?.ssrc, found?.timestamp, Math.round(found?.time ?? 0)], [5, 77, 1_700_000_000_250]);
  assert.deepEqual(parsePictureLosses(Buffer.concat([report, pictureLossIndication(1, 2), pictureLossIndication(1, 3)])), [2, 3]);
  for (let size = 0; size < compound.length; size += 1) {
    parseSenderReports(compound.subarray(0, size));
    assert.deepEqual(parsePictureLosses(compound.subarray(0, size)), size < 20 ? [] : [2]);
  }
});
