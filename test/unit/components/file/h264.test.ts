// H.264: NAL units and access units of a byte stream, and their RTP payloads.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MediaFileError } from '../../../../node/components/file/file-error.ts';
import { AccessUnits, AnnexBSplitter, isConstrainedBaseline, profileLevelId } from '../../../../node/components/file/h264.ts';
import { h264Payloads, nalUnits } from '../../../../node/components/rtp/h264-packetizer.ts';
import { seededRandom } from '../../../kit/seeded-random.ts';

const nal = (type: number, size = 10, firstByte = 0x80) =>
  Buffer.from(Array.from({ length: size }, (_, index) => (index === 0 ? 0x60 | type : index === 1 ? firstByte : 3 + (index % 200))));
const sps = Buffer.from([0x67, 0x42, 0xc0, 0x1e, 1, 2, 3]);
const pps = Buffer.from([0x68, 9, 9]);
const stream = (nals: readonly Buffer[], long = true) =>
  Buffer.concat(nals.flatMap((each) => [Buffer.from(long ? [0, 0, 0, 1] : [0, 0, 1]), each]));

function split(bytes: Buffer, step: number): Buffer[] {
  const splitter = new AnnexBSplitter();
  const nals: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += step) nals.push(...splitter.push(bytes.subarray(at, at + step)));
  return [...nals, ...splitter.end()];
}

function unitsOf(nals: readonly Buffer[]): Buffer[][] {
  const units = new AccessUnits();
  const found = nals.flatMap((each) => {
    const unit = units.push(each);
    return unit ? [unit] : [];
  });
  const last = units.end();
  return last ? [...found, last] : found;
}

test('NAL units are complete for any chunk size and both start codes, without trailing zeros', () => {
  const nals = [sps, pps, nal(5, 3000), nal(1, 40), nal(1, 1)];
  for (const long of [true, false]) for (const step of [1, 2, 3, 4, 5, 7, 4096]) assert.deepEqual(split(stream(nals, long), step), nals);
  assert.deepEqual(split(Buffer.concat([Buffer.from([9, 9, 0, 0]), stream(nals), Buffer.from([0, 0, 0, 0])]), 3), nals);
  assert.deepEqual(split(Buffer.from('no start code at all'), 4), []);
});

test('a NAL unit above the size limit throws a MediaFileError', () => {
  const splitter = new AnnexBSplitter();
  splitter.push(Buffer.from([0, 0, 1, 0x65]));
  assert.throws(() => {
    for (let chunk = 0; chunk < 70; chunk += 1) splitter.push(Buffer.alloc(65_536, 7));
  }, MediaFileError);
});

test('a frame with too many or too large NAL units throws a MediaFileError', () => {
  const many = new AccessUnits();
  assert.throws(() => {
    for (let count = 0; count < 5000; count += 1) many.push(nal(1, 2, 0x40));
  }, MediaFileError);
  const large = new AccessUnits();
  const slice = Buffer.alloc(3_000_000, 1);
  assert.throws(() => {
    for (let count = 0; count < 3; count += 1) large.push(slice);
  }, MediaFileError);
});

test('slices of one frame form one access unit, with the units before them and without delimiters', () => {
  const first = nal(5);
  const second = nal(5, 10, 0x40);
  const later = nal(1, 12);
  const sei = nal(6);
  assert.deepEqual(unitsOf([nal(9, 2), sps, pps, first, second, nal(9, 2), sei, later, nal(12), later]), [
    [sps, pps, first, second],
    [sei, later],
    [later],
  ]);
});

test('parameter sets are repeated before an IDR frame without them', () => {
  const key = nal(5);
  const other = nal(1);
  assert.deepEqual(unitsOf([sps, pps, key, other, key, other]), [[sps, pps, key], [other], [sps, pps, key], [other]]);
});

test('NAL units of RTP types and units with the forbidden bit are dropped', () => {
  const key = nal(5);
  assert.deepEqual(
    unitsOf([Buffer.from([0x7c, 0x85, 1]), Buffer.from([0x78, 0, 1, 1]), Buffer.from([0xe5, 0x80]), Buffer.from([0x60]), key]),
    [[key]],
  );
});

test('only the constrained baseline profile is accepted', () => {
  assert.equal(profileLevelId(sps), '42c01e');
  assert.equal(profileLevelId(pps), undefined);
  for (const id of ['42c01e', '42e01f', '424015', '4d8028', '58c01e']) assert.equal(isConstrainedBaseline(id), true, id);
  for (const id of ['42001f', '4d001f', '64001f', '58401e', '42e11f', 'f4001f']) assert.equal(isConstrainedBaseline(id), false, id);
});

/** Depacketizes RFC 6184, sections 5.6 to 5.8. */
function unpack(payloads: readonly Buffer[]): Buffer[] {
  const nals: Buffer[] = [];
  let parts: Buffer[] = [];
  for (const payload of payloads) {
    const type = (payload[0] ?? 0) & 31;
    if (type < 24) nals.push(payload);
    else if (type === 24) {
      for (let at = 1; at < payload.length; ) {
        const length = payload.readUInt16BE(at);
        nals.push(payload.subarray(at + 2, at + 2 + length));
        at += 2 + length;
      }
    } else {
      assert.equal(type, 28);
      const mark = payload[1] ?? 0;
      assert.equal((mark & 0x80) !== 0, parts.length === 0);
      assert.notEqual(mark & 0xc0, 0xc0);
      if (parts.length === 0) parts.push(Buffer.from([((payload[0] ?? 0) & 0x60) | (mark & 31)]));
      parts.push(payload.subarray(2));
      if (mark & 0x40) {
        nals.push(Buffer.concat(parts));
        parts = [];
      }
    }
  }
  assert.deepEqual(parts, []);
  return nals;
}

test('payloads respect every size limit and contain all NAL units', () => {
  const limit = 100;
  for (let size = 1; size <= 320; size += 1) {
    const nals = [sps, pps, nal(5, size), nal(5, 321 - size, 0x40)];
    const payloads = h264Payloads(nals, limit);
    for (const payload of payloads) assert.ok(payload.length <= limit, `${payload.length} bytes`);
    assert.deepEqual(unpack(payloads), nals);
  }
});

test('the NAL units of a whole access unit are found after start codes of both lengths', () => {
  const units = [sps, pps, nal(5, 300)];
  const bytes = Buffer.concat(units.flatMap((unit, index) => [Buffer.from(index % 2 ? [0, 0, 1] : [0, 0, 0, 1]), unit]));
  assert.deepEqual(nalUnits(bytes), units);
  assert.deepEqual(nalUnits(Buffer.concat([bytes, Buffer.alloc(3)])), units);
  for (const none of [Buffer.alloc(0), Buffer.from([0, 0, 1]), sps]) assert.deepEqual(nalUnits(none), []);
});

test('parameter sets are aggregated into one packet', () => {
  const [first] = h264Payloads([sps, pps, nal(5, 5000)]);
  assert.equal((first?.[0] ?? 0) & 31, 24);
  assert.deepEqual(unpack(first ? [first] : []), [sps, pps]);
});

test('payloads of 200 hostile streams with many start codes respect the limit', () => {
  const random = seededRandom(6);
  for (let round = 0; round < 200; round += 1) {
    const bytes = Buffer.from(Array.from({ length: 3000 }, () => (random() < 0.4 ? 0 : random() < 0.3 ? 1 : Math.floor(random() * 256))));
    const nals = split(bytes, 1 + Math.floor(random() * 500));
    assert.deepEqual(nals, split(bytes, bytes.length));
    for (const unit of unitsOf(nals)) {
      const payloads = h264Payloads(unit, 50);
      for (const payload of payloads) assert.ok(payload.length > 0 && payload.length <= 50 && ((payload[0] ?? 0) & 0x80) === 0);
      assert.deepEqual(unpack(payloads), unit);
    }
  }
});
