// Opus in Ogg: complete, split, damaged, lost, foreign and hostile pages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MediaFileError } from '../../../../node/components/file/file-error.ts';
import { maxOpusPacket, OggOpusReader, opusSamples, pageChecksum } from '../../../../node/components/file/ogg.ts';
import { oggFile, oggPage, opusHead, opusPacket, opusTags } from '../../../kit/media/ogg-file.ts';
import { assertPrompt, stopwatch } from '../../../kit/promised-time.ts';
import { seededRandom } from '../../../kit/seeded-random.ts';

function read(bytes: Buffer, step = bytes.length): Buffer[] {
  const reader = new OggOpusReader();
  const packets: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += step) packets.push(...reader.push(bytes.subarray(at, at + step)));
  return packets;
}

const packets = Array.from({ length: 20 }, (_, index) => opusPacket(100 + index * 40, index));

test('packets are complete for any chunk size', () => {
  const bytes = oggFile(packets);
  for (const step of [1, 2, 3, 27, 255, 4096, bytes.length]) assert.deepEqual(read(bytes, step), packets, `step ${step}`);
});

test('the page checksum is that of RFC 3533', () => {
  const page = oggPage({ serial: 7, number: 0, flags: 2, packets: [opusHead, opusPacket(700, 3)] });
  // Section 6, bit by bit: polynomial 0x04c11db7, initial value 0, checksum field set to zero.
  const zeroed = Buffer.from(page).fill(0, 22, 26);
  let crc = 0;
  for (const byte of zeroed) {
    crc ^= byte << 24;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000_0000 ? (crc << 1) ^ 0x04c1_1db7 : crc << 1;
  }
  assert.equal(pageChecksum(page), crc >>> 0);
  assert.equal(pageChecksum(Buffer.from('OggS')), 0x5fb0_a94f);
});

test('a packet that spans pages is assembled, or dropped if one of its pages is lost', () => {
  const long = opusPacket(900, 3);
  const pages = [
    ...oggPages(),
    oggPage({ serial: 1, number: 2, lacing: [255, 255], body: long.subarray(0, 510) }),
    oggPage({ serial: 1, number: 3, flags: 1, lacing: [255, 135], body: long.subarray(510) }),
    oggPage({ serial: 1, number: 4, packets: [opusPacket(50, 9)] }),
  ];
  assert.deepEqual(read(Buffer.concat(pages)), [long, opusPacket(50, 9)]);
  assert.deepEqual(read(Buffer.concat(pages.toSpliced(3, 1))), [opusPacket(50, 9)]);
  assert.deepEqual(read(Buffer.concat(pages.toSpliced(2, 1))), [opusPacket(50, 9)]);
});

test('damaged pages and garbage between pages are skipped', () => {
  const pages = [...oggPages(), ...packets.map((packet, index) => oggPage({ serial: 1, number: index + 2, packets: [packet] }))];
  const damaged = pages.map((page, index) => (index === 5 ? page.with(40, (page[40] ?? 0) ^ 1) : page));
  const bytes = Buffer.concat([Buffer.from('OggOgOggSgarbage'), ...damaged.flatMap((page) => [Buffer.from('OggSOgg'), Buffer.from(page)])]);
  assert.deepEqual(read(bytes, 100), packets.toSpliced(3, 1));
});

test('other streams are ignored, and a chained Opus stream is read', () => {
  const other = oggPage({ serial: 9, number: 0, flags: 2, packets: [Buffer.from('\x80theora')] });
  const more = oggPage({ serial: 9, number: 1, packets: [Buffer.from('video')] });
  const one = opusPacket(60, 1);
  const two = opusPacket(70, 2);
  const bytes = [
    other,
    ...oggPages(),
    more,
    oggPage({ serial: 1, number: 2, flags: 4, packets: [one] }),
    ...oggPages(2),
    oggPage({ serial: 2, number: 2, flags: 4, packets: [two] }),
  ];
  assert.deepEqual(read(Buffer.concat(bytes)), [one, two]);
});

test('tags with large images are not buffered', () => {
  const tags = Buffer.concat([opusTags, Buffer.alloc(500_000, 7)]);
  assert.deepEqual(read(oggFile(packets, tags), 4096), packets);
});

test('a packet that does not fit an RTP packet throws a MediaFileError', () => {
  assert.deepEqual(read(oggFile([opusPacket(maxOpusPacket, 1)])).length, 1);
  assert.throws(() => read(oggFile([opusPacket(maxOpusPacket + 1, 1)])), MediaFileError);
});

test('a file with too many damaged pages fails promptly', () => {
  const pageLike = Buffer.alloc(282, 255);
  pageLike.write('OggS');
  pageLike.fill(0, 4, 26);
  const elapsed = stopwatch();
  assert.throws(() => read(Buffer.concat([...oggPages(), Buffer.alloc(2_000_000, pageLike)]), 65_536), {
    message: 'The file has too many damaged pages',
  });
  assert.throws(() => read(Buffer.concat([...oggPages(), Buffer.alloc(2_000_000, 7)]), 65_536), {
    message: 'The file has too many damaged pages',
  });
  // Half a second; a search at every byte would take minutes.
  assertPrompt('to fail', elapsed(), { promised: 500, bound: 20_000 });
});

test('content without Opus yields no packets', () => {
  const vorbis = oggPage({ serial: 1, number: 0, flags: 2, packets: [Buffer.from('\x01vorbis')] });
  const reader = new OggOpusReader();
  assert.deepEqual(reader.push(Buffer.concat([vorbis, oggPage({ serial: 1, number: 1, packets: [opusPacket(50, 1)] })])), []);
  assert.equal(reader.found, false);
});

test('the duration of a packet is read from its first bytes', () => {
  const toc = (config: number, code: number) => (config << 3) | code;
  assert.equal(opusSamples(Buffer.from([toc(31, 0)])), 960);
  assert.equal(opusSamples(Buffer.from([toc(16, 0)])), 120);
  assert.equal(opusSamples(Buffer.from([toc(3, 0)])), 2880);
  assert.equal(opusSamples(Buffer.from([toc(13, 1)])), 1920);
  assert.equal(opusSamples(Buffer.from([toc(31, 3), 6])), 5760);
  assert.equal(opusSamples(Buffer.from([toc(31, 3), 7])), 0);
  assert.equal(opusSamples(Buffer.from([toc(31, 3)])), 0);
  assert.equal(opusSamples(Buffer.alloc(0)), 0);
});

test('300 mutations of a valid file throw nothing but MediaFileError and are not buffered', () => {
  const random = seededRandom(5);
  const intact = oggFile(packets);
  for (let round = 0; round < 300; round += 1) {
    const bytes = Buffer.from(intact);
    for (let change = 0; change < 1 + random() * 20; change += 1) bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
    // Half of them get valid checksums, so that the content of pages is read too.
    if (round % 2 === 0) repairChecksums(bytes);
    try {
      for (const packet of read(bytes, 1 + Math.floor(random() * 5000))) assert.ok(packet.length > 0 && packet.length <= maxOpusPacket);
    } catch (error) {
      assert.ok(error instanceof MediaFileError, String(error));
    }
  }
});

function oggPages(serial = 1): Buffer[] {
  return [oggPage({ serial, number: 0, flags: 2, packets: [opusHead] }), oggPage({ serial, number: 1, packets: [opusTags] })];
}

function repairChecksums(bytes: Buffer): void {
  for (let at = bytes.indexOf('OggS'); at >= 0; at = bytes.indexOf('OggS', at + 4)) {
    const count = bytes[at + 26] ?? 0;
    const size = 27 + count + bytes.subarray(at + 27, at + 27 + count).reduce((sum, lacing) => sum + lacing, 0);
    const page = bytes.subarray(at, at + size);
    if (page.length === size) page.writeUInt32LE(pageChecksum(page), 22);
  }
}
