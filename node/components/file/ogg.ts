// Ogg pages (RFC 3533) with Opus in them (RFC 7845), as they come in from a stream of bytes.
import { MediaFileError } from './file-error.ts';

const headerSize = 27;
const capture = Buffer.from('OggS');
const continuedFlag = 1;
const firstFlag = 2;
const lastFlag = 4;
/** Bytes of the largest Opus packet that we send: it has to fit one RTP packet (RFC 7587, section 4.2). */
export const maxOpusPacket = 1400;
/** Damaged pages and bytes between pages that are passed over before a file is given up: looking for pages costs time. */
const maxDamaged = 100;
const maxGarbage = 1024 * 1024;
/** Bytes of the header packet that may be kept; more is no OpusHead. */
const maxHead = 1024;

type Stage = 'head' | 'tags' | 'audio';

/**
 * Takes bytes, gives the Opus packets of the first Opus stream in them, and of those chained behind it. Damaged pages are skipped, as
 * RFC 3533 has it; a packet that lacks a part is dropped.
 */
export class OggOpusReader {
  #rest: Buffer = Buffer.alloc(0);
  #serial: number | undefined;
  #stage: Stage = 'head';
  #parts: Buffer[] = [];
  #size = 0;
  /** A packet is open: its next part is to come with the next page. */
  #open = false;
  #nextPage = 0;
  #damaged = 0;
  #garbage = 0;

  /** Whether an Opus stream was found. */
  get found(): boolean {
    return this.#serial !== undefined;
  }

  /** @throws MediaFileError where a packet does not fit an RTP packet, or too much is damaged */
  push(chunk: Buffer): Buffer[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const packets: Buffer[] = [];
    for (;;) {
      const start = this.#rest.indexOf(capture);
      if (start < 0) {
        // The pattern may have begun.
        this.#passOver(Math.max(0, this.#rest.length - 3));
        return packets;
      }
      this.#passOver(start);
      const size = pageSize(this.#rest);
      if (size === undefined || size > this.#rest.length) return packets;
      const page = this.#rest.subarray(0, size);
      const sound = page[4] === 0 && pageChecksum(page) === page.readUInt32LE(22);
      // What only looked like a page may hold the beginning of one.
      this.#rest = this.#rest.subarray(sound ? size : capture.length);
      if (sound) this.#readPage(page, packets);
      else this.#countDamaged();
    }
  }

  #passOver(bytes: number): void {
    this.#rest = this.#rest.subarray(bytes);
    this.#garbage += bytes;
    if (this.#garbage > maxGarbage) throw tooDamaged();
  }

  #countDamaged(): void {
    this.#damaged += 1;
    if (this.#damaged > maxDamaged) throw tooDamaged();
  }

  #readPage(page: Buffer, packets: Buffer[]): void {
    const flags = page[5] ?? 0;
    const serial = page.readUInt32LE(14);
    if (this.#serial === undefined || serial !== this.#serial) {
      const isOpus = (flags & firstFlag) !== 0 && page.subarray(headerSize + (page[26] ?? 0)).indexOf('OpusHead') === 0;
      if (!isOpus || this.#serial !== undefined) return;
      this.#serial = serial;
      this.#stage = 'head';
      this.#nextPage = page.readUInt32LE(18);
      this.#drop();
    }
    const number = page.readUInt32LE(18);
    if (number !== this.#nextPage) this.#drop();
    this.#nextPage = (number + 1) >>> 0;
    // What another page began cannot be continued if that page is lost, and what is not continued never ends.
    let skip = (flags & continuedFlag) !== 0 && !this.#open;
    if ((flags & continuedFlag) === 0) this.#drop();
    const count = page[26] ?? 0;
    let at = headerSize + count;
    for (let segment = 0; segment < count; ) {
      let length = 0;
      let whole = false;
      while (segment < count && !whole) {
        const lacing = page[headerSize + segment] ?? 0;
        segment += 1;
        length += lacing;
        whole = lacing < 255;
      }
      if (!skip) this.#addPart(page.subarray(at, at + length));
      at += length;
      if (whole && !skip) this.#endPacket(packets);
      if (whole) skip = false;
    }
    // Another stream may be chained behind this one.
    if ((flags & lastFlag) !== 0) this.#serial = undefined;
  }

  #addPart(part: Buffer): void {
    this.#open = true;
    this.#size += part.length;
    // Tags may hold pictures of any size: nobody needs them.
    if (this.#stage === 'tags') return;
    if (this.#size > (this.#stage === 'head' ? maxHead : maxOpusPacket)) {
      throw new MediaFileError(`It holds an Opus packet of more than ${maxOpusPacket} bytes, which does not fit an RTP packet`);
    }
    this.#parts.push(part);
  }

  #endPacket(packets: Buffer[]): void {
    const packet = Buffer.concat(this.#parts);
    this.#drop();
    if (this.#stage === 'head') this.#stage = 'tags';
    else if (this.#stage === 'tags') this.#stage = 'audio';
    else if (packet.length > 0) packets.push(packet);
  }

  #drop(): void {
    this.#parts = [];
    this.#size = 0;
    this.#open = false;
  }
}

function tooDamaged(): MediaFileError {
  return new MediaFileError('It is damaged in too many places');
}

/** Bytes of the page that begins here; undefined while too little of it is known. */
function pageSize(bytes: Buffer): number | undefined {
  const count = bytes[26];
  if (count === undefined || bytes.length < headerSize + count) return undefined;
  let size = headerSize + count;
  for (let segment = 0; segment < count; segment += 1) size += bytes[headerSize + segment] ?? 0;
  return size;
}

const checksums = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index << 24;
  for (let bit = 0; bit < 8; bit += 1) value = value & 0x8000_0000 ? (value << 1) ^ 0x04c1_1db7 : value << 1;
  return value;
});

/** CRC of a page as if its own field were 0 (RFC 3533, section 6): polynomial 0x04c11db7, not reflected. */
export function pageChecksum(page: Buffer): number {
  let crc = 0;
  for (const [index, byte] of page.entries()) {
    const value = index >= 22 && index < 26 ? 0 : byte;
    crc = (crc << 8) ^ (checksums[((crc >>> 24) ^ value) & 255] ?? 0);
  }
  return crc >>> 0;
}

/** Samples at 48 kHz that an Opus packet stands for (RFC 6716, section 3.1); 0 where it is none. */
export function opusSamples(packet: Buffer): number {
  const [toc, second] = packet;
  if (toc === undefined) return 0;
  const config = toc >> 3;
  const frame = config < 12 ? [480, 960, 1920, 2880][config & 3] : config < 16 ? [480, 960][config & 1] : [120, 240, 480, 960][config & 3];
  const code = toc & 3;
  const frames = code === 0 ? 1 : code < 3 ? 2 : (second ?? 0) & 63;
  const samples = (frame ?? 0) * frames;
  // 120 ms is the most that one packet may stand for.
  return samples <= 5760 ? samples : 0;
}
