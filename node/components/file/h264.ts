// H.264 byte stream (ITU-T H.264, Annex B): NAL units, access units and profile.
import { MediaFileError } from './file-error.ts';

const startCode = Buffer.from([0, 0, 1]);
/** Maximum bytes of a NAL unit and of an access unit. */
const maxNal = 4 * 1024 * 1024;
const maxAccessUnit = 8 * 1024 * 1024;
/** Maximum NAL units of a frame. */
const maxUnits = 4096;
const types = { idr: 5, sps: 7, pps: 8 } as const;
/** NAL units that receivers do not need: delimiters, ends and filler. */
const silent = new Set([9, 10, 11, 12]);

/** Splits bytes into NAL units without start codes. */
export class AnnexBSplitter {
  #rest: Buffer = Buffer.alloc(0);
  #scanned = 0;
  #started = false;

  /** @throws MediaFileError if a NAL unit is too large */
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
    // The last two bytes may belong to a start code.
    if (!this.#started) this.#rest = this.#rest.subarray(Math.max(0, this.#rest.length - 2));
    this.#scanned = Math.max(0, this.#rest.length - 2);
    if (this.#rest.length > maxNal) throw new MediaFileError(`The file has a NAL unit of more than ${maxNal} bytes`);
    return units;
  }

  /** The last NAL unit, at the end of the file. */
  end(): Buffer[] {
    const units: Buffer[] = [];
    if (this.#started) addUnit(units, this.#rest);
    this.#rest = Buffer.alloc(0);
    return units;
  }
}

/** Zeros after a NAL unit belong to the byte stream. */
function addUnit(units: Buffer[], bytes: Buffer): void {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  if (end > 0) units.push(bytes.subarray(0, end));
}

/**
 * Groups NAL units into access units (section 7.4.1.2.3): a new one begins with a first slice, or with a NAL unit that must precede one.
 * Parameter sets are repeated before every IDR frame without them, so that late receivers can start there.
 */
export class AccessUnits {
  #units: Buffer[] = [];
  #size = 0;
  #hasFrame = false;
  #parameterSets: Buffer[] = [];

  /** @returns the access unit that this NAL unit completes. @throws MediaFileError if one is too large */
  push(nal: Buffer): Buffer[] | undefined {
    const header = nal[0] ?? 0x80;
    const type = header & 31;
    // Receivers would misinterpret types that RTP reserves, and units marked as damaged.
    if (header & 0x80 || type === 0 || type >= 24) return undefined;
    const isSlice = type >= 1 && type <= 5;
    const begins = isSlice
      ? ((nal[1] ?? 0) & 0x80) !== 0 && type !== 3 && type !== 4
      : (type >= 6 && type <= 9) || (type >= 14 && type <= 18);
    const ended = this.#hasFrame && begins ? this.#take() : undefined;
    if (isSlice) this.#hasFrame = true;
    if (!silent.has(type)) this.#add(nal);
    return ended;
  }

  end(): Buffer[] | undefined {
    return this.#hasFrame ? this.#take() : undefined;
  }

  #add(nal: Buffer): void {
    this.#size += nal.length;
    if (this.#units.length >= maxUnits) throw new MediaFileError(`The file has a frame of more than ${maxUnits} NAL units`);
    if (this.#size > maxAccessUnit) throw new MediaFileError(`The file has a frame of more than ${maxAccessUnit} bytes`);
    this.#units.push(nal);
  }

  #take(): Buffer[] {
    const units = this.#units;
    this.#units = [];
    this.#size = 0;
    this.#hasFrame = false;
    const sets = units.filter((nal) => isType(nal, types.sps) || isType(nal, types.pps));
    if (sets.some((nal) => isType(nal, types.sps))) this.#parameterSets = sets;
    else if (units.some((nal) => isType(nal, types.idr))) return [...this.#parameterSets, ...units];
    return units;
  }
}

function isType(nal: Buffer, type: number): boolean {
  return ((nal[0] ?? 0) & 31) === type;
}

/** `profile-level-id` (RFC 6184, section 8.1) of a sequence parameter set; undefined for other NAL units. */
export function profileLevelId(nal: Buffer): string | undefined {
  return isType(nal, types.sps) && nal.length >= 4 ? nal.subarray(1, 4).toString('hex') : undefined;
}

/** True for the constrained baseline profile (table 5 of RFC 6184), which every browser decodes. */
export function isConstrainedBaseline(id: string): boolean {
  const profile = id.slice(0, 2);
  const constraints = Number.parseInt(id.slice(2, 4), 16);
  if ((constraints & 0x0f) !== 0) return false;
  if (profile === '42') return (constraints & 0x40) !== 0;
  if (profile === '4d') return (constraints & 0x80) !== 0;
  return profile === '58' && (constraints & 0xc0) === 0xc0;
}
