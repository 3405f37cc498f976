// H.264 from a byte stream (ITU-T H.264, Annex B): NAL units, access units, profile, and payloads of RTP (RFC 6184).
import { MediaFileError } from './file-error.ts';

const startCode = Buffer.from([0, 0, 1]);
/** Bytes of the largest NAL unit and access unit that are taken. */
const maxNal = 4 * 1024 * 1024;
const maxAccessUnit = 8 * 1024 * 1024;
/** NAL units that one picture may have. */
const maxUnits = 4096;
const types = { idr: 5, sps: 7, pps: 8 } as const;
/** NAL units that say nothing to a receiver: delimiters, ends and filler. */
const silent = new Set([9, 10, 11, 12]);

/** Takes bytes, gives NAL units without their start codes. */
export class AnnexBSplitter {
  #rest: Buffer = Buffer.alloc(0);
  #scanned = 0;
  #started = false;

  /** @throws MediaFileError where a NAL unit is too large */
  push(chunk: Buffer): Buffer[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const units: Buffer[] = [];
    for (;;) {
      const next = this.#rest.indexOf(startCode, this.#scanned);
      if (next < 0) break;
      if (this.#started) addUnit(units, this.#rest.subarray(0, next));
      this.#started = true;
      this.#rest = this.#rest.subarray(next + startCode.length);
      this.#scanned = 0;
    }
    // The last two bytes may begin a start code.
    if (!this.#started) this.#rest = this.#rest.subarray(Math.max(0, this.#rest.length - 2));
    this.#scanned = Math.max(0, this.#rest.length - 2);
    if (this.#rest.length > maxNal) throw new MediaFileError(`It holds a NAL unit of more than ${maxNal} bytes`);
    return units;
  }

  /** What the end of the file ends. */
  end(): Buffer[] {
    const units: Buffer[] = [];
    if (this.#started) addUnit(units, this.#rest);
    this.#rest = Buffer.alloc(0);
    return units;
  }
}

/** Zeros behind a NAL unit belong to the byte stream. */
function addUnit(units: Buffer[], bytes: Buffer): void {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  if (end > 0) units.push(bytes.subarray(0, end));
}

/**
 * Puts NAL units together to access units (section 7.4.1.2.3): a new one begins with a first slice, or with what may only stand before
 * one. Parameter sets are repeated before every IDR picture that comes without, so that receivers that came late can begin there.
 */
export class AccessUnits {
  #units: Buffer[] = [];
  #size = 0;
  #hasPicture = false;
  #parameterSets: Buffer[] = [];

  /** @returns the access unit that this NAL unit ended. @throws MediaFileError where one is too large */
  push(nal: Buffer): Buffer[] | undefined {
    const header = nal[0] ?? 0x80;
    const type = header & 31;
    // A unit of RTP's own types, or one that is marked as broken, would be taken for something else by receivers.
    if (header & 0x80 || type === 0 || type >= 24) return undefined;
    const isSlice = type >= 1 && type <= 5;
    const begins = isSlice
      ? ((nal[1] ?? 0) & 0x80) !== 0 && type !== 3 && type !== 4
      : (type >= 6 && type <= 9) || (type >= 14 && type <= 18);
    const ended = this.#hasPicture && begins ? this.#take() : undefined;
    if (isSlice) this.#hasPicture = true;
    if (!silent.has(type)) this.#add(nal);
    return ended;
  }

  end(): Buffer[] | undefined {
    return this.#hasPicture ? this.#take() : undefined;
  }

  #add(nal: Buffer): void {
    this.#size += nal.length;
    if (this.#units.length >= maxUnits) throw new MediaFileError(`It holds a picture of more than ${maxUnits} NAL units`);
    if (this.#size > maxAccessUnit) throw new MediaFileError(`It holds a picture of more than ${maxAccessUnit} bytes`);
    this.#units.push(nal);
  }

  #take(): Buffer[] {
    const units = this.#units;
    this.#units = [];
    this.#size = 0;
    this.#hasPicture = false;
    const sets = units.filter((nal) => isType(nal, types.sps) || isType(nal, types.pps));
    if (sets.some((nal) => isType(nal, types.sps))) this.#parameterSets = sets;
    else if (units.some((nal) => isType(nal, types.idr))) return [...this.#parameterSets, ...units];
    return units;
  }
}

export function isType(nal: Buffer, type: number): boolean {
  return ((nal[0] ?? 0) & 31) === type;
}

/** `profile-level-id` (RFC 6184, section 8.1) of a sequence parameter set; undefined for other NAL units. */
export function profileLevelId(nal: Buffer): string | undefined {
  return isType(nal, types.sps) && nal.length >= 4 ? nal.subarray(1, 4).toString('hex') : undefined;
}

/** Whether it names the constrained baseline profile (table 5 of RFC 6184), which every browser decodes. */
export function isConstrainedBaseline(id: string): boolean {
  const profile = id.slice(0, 2);
  const constraints = Number.parseInt(id.slice(2, 4), 16);
  if ((constraints & 0x0f) !== 0) return false;
  if (profile === '42') return (constraints & 0x40) !== 0;
  if (profile === '4d') return (constraints & 0x80) !== 0;
  return profile === '58' && (constraints & 0xc0) === 0xc0;
}

/** Bytes of RTP payload that fit any path with headers and encryption. */
export const maxPayload = 1200;

/** Payloads of one access unit: small NAL units together (STAP-A), large ones in parts (FU-A), others as they are. */
export function h264Payloads(nals: readonly Buffer[], limit = maxPayload): Buffer[] {
  const payloads: Buffer[] = [];
  let group: Buffer[] = [];
  let size = 1;
  const flush = () => {
    if (group.length > 0) payloads.push(group.length === 1 ? (group[0] as Buffer) : aggregate(group));
    group = [];
    size = 1;
  };
  for (const nal of nals) {
    if (size + 2 + nal.length > limit) flush();
    if (nal.length > limit) payloads.push(...fragments(nal, limit));
    else {
      group.push(nal);
      size += 2 + nal.length;
    }
  }
  flush();
  return payloads;
}

/** STAP-A (section 5.7.1). */
function aggregate(nals: readonly Buffer[]): Buffer {
  const importance = Math.max(...nals.map((nal) => (nal[0] ?? 0) & 0x60));
  const parts: Buffer[] = [Buffer.from([importance | 24])];
  for (const nal of nals) {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(nal.length);
    parts.push(length, nal);
  }
  return Buffer.concat(parts);
}

/** FU-A (section 5.8). */
function fragments(nal: Buffer, limit: number): Buffer[] {
  const header = nal[0] ?? 0;
  const parts: Buffer[] = [];
  for (let at = 1; at < nal.length; at += limit - 2) {
    const end = Math.min(at + limit - 2, nal.length);
    const marks = (at === 1 ? 0x80 : 0) | (end === nal.length ? 0x40 : 0);
    parts.push(Buffer.concat([Buffer.from([(header & 0x60) | 28, marks | (header & 31)]), nal.subarray(at, end)]));
  }
  return parts;
}
