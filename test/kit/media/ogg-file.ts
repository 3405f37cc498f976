// Ogg files with synthetic Opus packets of any content.
import { pageChecksum } from '../../../node/components/file/ogg.ts';

export const opusHead = Buffer.concat([Buffer.from('OpusHead'), Buffer.from([1, 2, 0x38, 1, 0x80, 0xbb, 0, 0, 0, 0, 0])]);
export const opusTags = Buffer.concat([Buffer.from('OpusTags'), Buffer.from([4, 0, 0, 0]), Buffer.from('test'), Buffer.from([0, 0, 0, 0])]);

/** A packet of 20 ms; its other bytes count up from `seed`. */
export function opusPacket(size: number, seed: number): Buffer {
  return Buffer.from(Array.from({ length: size }, (_, index) => (index === 0 ? 31 << 3 : (seed + index) & 255)));
}

export type OggPage = { serial: number; number: number; flags?: number } & ({ packets: Buffer[] } | { lacing: number[]; body: Buffer });

/** A page with a valid checksum, of whole packets or a given lacing. */
export function oggPage(page: OggPage): Buffer {
  const lacing = 'packets' in page ? page.packets.flatMap(({ length }) => lacingOf(length)) : page.lacing;
  const body = 'packets' in page ? Buffer.concat(page.packets) : page.body;
  const header = Buffer.alloc(27);
  header.write('OggS');
  header[5] = page.flags ?? 0;
  header.writeUInt32LE(page.serial, 14);
  header.writeUInt32LE(page.number, 18);
  header[26] = lacing.length;
  const bytes = Buffer.concat([header, Buffer.from(lacing), body]);
  bytes.writeUInt32LE(pageChecksum(bytes), 22);
  return bytes;
}

/** A file of one stream; large packets span pages. */
export function oggFile(packets: readonly Buffer[], tags = opusTags): Buffer {
  const pages: Buffer[] = [oggPage({ serial: 1, number: 0, flags: 2, packets: [opusHead] })];
  for (const packet of [tags, ...packets]) {
    const lacing = lacingOf(packet.length);
    for (let from = 0; from < lacing.length; from += 255) {
      const part = lacing.slice(from, from + 255);
      const at = from * 255;
      const body = packet.subarray(at, at + part.reduce((sum, each) => sum + each, 0));
      pages.push(oggPage({ serial: 1, number: pages.length, flags: from === 0 ? 0 : 1, lacing: part, body }));
    }
  }
  return Buffer.concat(pages);
}

function lacingOf(length: number): number[] {
  return [...Array.from({ length: Math.floor(length / 255) }, () => 255), length % 255];
}

const packets = (count: number) => Array.from({ length: count }, (_, index) => opusPacket(50, index));

/** Files below `file_component_sources`, by path in the resources directory. */
export function playableFiles(): Record<string, Buffer> {
  return {
    'file_component_sources/short.ogg': oggFile(packets(5)),
    'file_component_sources/long.ogg': oggFile(packets(3000)),
    // Valid at its start, so that it is accepted; later it has a packet that exceeds an RTP packet.
    'file_component_sources/broken.ogg': oggFile([opusPacket(60_000, 1)], Buffer.concat([opusTags, Buffer.alloc(200_000)])),
  };
}
