// Ogg reader: extracts Opus packets (RFC 7845) from Ogg pages (RFC 3533) in a byte stream.
import { MediaFileError } from './file-error.ts';

const headerSize = 27;
const capture = Buffer.from('OggS');
const continuedFlag = 1;
const firstFlag = 2;
const lastFlag = 4;
/** Maximum bytes of an Opus packet: it must fit one RTP packet (RFC 7587, section 4.2). */
export const maxOpusPacket = 1400;
/** Maximum of damaged pages and gaps per file, because each requires a search for the next page. */
const maxDamaged = 100;
const maxGarbage = 1024 * 1024;
/** Maximum bytes of a header packet; more is not OpusHead. */
const maxHead = 1024;

type Stage = 'head' | 'tags' | 'audio';

/**
 * Extracts packets of the first Opus stream, and of those chained after it. Damaged pages are skipped as in RFC 3533; incomplete packets
 * are dropped.
 */
export class OggOpusReader {
  #rest: Buffer = Buffer.alloc(0);
  #serial: number | undefined;
  #stage: Stage = 'head';
  #parts: Buffer[] = [];
  #size = 0;
  /** True if a packet continues on the next page. */
  #open = false;
  #nextPage = 0;
  #damaged = 0;
  #garbage = 0;

  /** True if an Opus stream was found. */
  get found(): boolean {
    return this.#serial !== undefined;
  }

  /** @throws MediaFileError if a packet does not fit an RTP packet, or too many pages are damaged */
  push(chunk: Buffer): Buffer[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const packets: Buffer[] = [];
    for (;;) {
      const start = this.#rest.indexOf(capture);
      if (start < 0) {
        // The capture pattern may have started.
        this.#passOver(Math.max(0, this.#rest.length - 3));
        return packets;
      }
      this.#passOver(start);
      const size = pageSize(this.#rest);
      if (size === undefined || size > this.#rest.length) return packets;
      const page = this.#rest.subarray(0, size);
      const intact = page[4] === 0 && pageChecksum(page) === page.readUInt32LE(22);
      // An invalid page may contain the start of a valid one.
      this.#rest = this.#rest.subarray(intact ? size : capture.length);
      if (intact) this.#readPage(page, packets);
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
    // If a page is lost, packets that continue from it or on it are dropped.
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
    // Another stream may be chained after this one.
    if ((flags & lastFlag) !== 0) this.#serial = undefined;
  }

  #addPart(part: Buffer): void {
    this.#open = true;
    this.#size += part.length;
    // Tags are skipped: they may contain large images.
    if (this.#stage === 'tags') return;
    if (this.#size > (this.#stage === 'head' ? maxHead : maxOpusPacket)) {
      throw new MediaFileError(`The file has an Opus packet of more than ${maxOpusPacket} bytes, which does not fit an RTP packet`);
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
  return new MediaFileError('The file has too many damaged pages');
}

/** Bytes of the page that starts here; undefined if more bytes are required. */
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

/** CRC of a page with its CRC field set to 0 (RFC 3533, section 6): polynomial 0x04c11db7, not reflected. */
export function pageChecksum(page: Buffer): number {
  let crc = 0;
  for (const [index, byte] of page.entries()) {
    const value = index >= 22 && index < 26 ? 0 : byte;
    crc = (crc << 8) ^ (checksums[((crc >>> 24) ^ value) & 255] ?? 0);
  }
  return crc >>> 0;
}

/** Duration of an Opus packet in samples at 48 kHz (RFC 6716, section 3.1); 0 if invalid. */
export function opusSamples(packet: Buffer): number {
  const [toc, second] = packet;
  if (toc === undefined) return 0;
  const config = toc >> 3;
  const frame = config < 12 ? [480, 960, 1920, 2880][config & 3] : config < 16 ? [480, 960][config & 1] : [120, 240, 480, 960][config & 3];
  const code = toc & 3;
  const frames = code === 0 ? 1 : code < 3 ? 2 : (second ?? 0) & 63;
  const samples = (frame ?? 0) * frames;
  // A packet lasts at most 120 ms.
  return samples <= 5760 ? samples : 0;
}
