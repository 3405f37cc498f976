// H.264 RTP depacketizer (RFC 6184, packetization modes 0 and 1): outputs frames with NAL unit lengths, as in MP4 and Matroska.
import { BitReader } from './bits.ts';
import { type EncodedFrame, maxUnits, type RtpDepacketizer, type VideoDescription } from './frame-assembler.ts';

const types = { idr: 5, sps: 7, pps: 8, delimiter: 9, stapA: 24, fuA: 28 } as const;

export class H264Depacketizer implements RtpDepacketizer {
  #units: Buffer[] = [];
  #fragments: Buffer[] | undefined;
  #sps: Buffer | undefined;
  #pps: Buffer | undefined;

  /** Any slice may start a frame; only NAL units that must precede slices are certain. */
  begins(payload: Buffer): boolean {
    const type = typeOf(payload[0]);
    const first = type === types.stapA ? typeOf(payload[3]) : type;
    return first === types.sps || first === types.delimiter;
  }

  reset(): void {
    this.#units = [];
    this.#fragments = undefined;
  }

  add(payload: Buffer): boolean {
    const type = typeOf(payload[0]);
    if (type >= 1 && type <= 23) return this.#addUnit(payload);
    if (type === types.stapA) return this.#addSeveral(payload);
    return type === types.fuA && this.#addFragment(payload);
  }

  take(): EncodedFrame | undefined {
    if (this.#fragments || this.#units.length === 0) return undefined;
    const key = this.#units.some((unit) => typeOf(unit[0]) === types.idr);
    const hasSets = this.#units.some((unit) => typeOf(unit[0]) === types.sps);
    const sets = key && !hasSets && this.#sps && this.#pps ? [this.#sps, this.#pps] : [];
    return { data: Buffer.concat([...sets, ...this.#units].flatMap((unit) => [lengthOf(unit), unit])), key };
  }

  describe(): VideoDescription | undefined {
    const [sps, pps] = [this.#sps, this.#pps];
    const size = sps && sizeOf(sps);
    return sps && pps && size ? { ...size, codecPrivate: decoderConfiguration(sps, pps) } : undefined;
  }

  /** False if there are too many units. */
  #addUnit(unit: Buffer): boolean {
    const type = typeOf(unit[0]);
    if (type === types.delimiter) return true;
    if (this.#units.length >= maxUnits) return false;
    // Copied, because it outlives the packet.
    if (type === types.sps) this.#sps = Buffer.from(unit);
    if (type === types.pps) this.#pps = Buffer.from(unit);
    this.#units.push(unit);
    return true;
  }

  /** Section 5.7.1. */
  #addSeveral(payload: Buffer): boolean {
    for (let at = 1; at < payload.length; ) {
      const length = at + 2 <= payload.length ? payload.readUInt16BE(at) : 0;
      if (length === 0 || at + 2 + length > payload.length) return false;
      if (!this.#addUnit(payload.subarray(at + 2, at + 2 + length))) return false;
      at += 2 + length;
    }
    return true;
  }

  /** Section 5.8. */
  #addFragment(payload: Buffer): boolean {
    const [indicator = 0, header = 0] = payload;
    if (payload.length < 3) return false;
    if (header & 0x80) this.#fragments = [Buffer.from([(indicator & 0xe0) | (header & 0x1f)])];
    if (!this.#fragments) return false;
    this.#fragments.push(payload.subarray(2));
    if (!(header & 0x40)) return true;
    const unit = Buffer.concat(this.#fragments);
    this.#fragments = undefined;
    return this.#addUnit(unit);
  }
}

function typeOf(byte: number | undefined): number {
  return (byte ?? 0) & 0x1f;
}

function lengthOf(unit: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(unit.length);
  return length;
}

/** AVCDecoderConfigurationRecord (ISO/IEC 14496-15, section 5.3.3.1). */
function decoderConfiguration(sps: Buffer, pps: Buffer): Buffer {
  const length = (unit: Buffer) => Buffer.from([unit.length >> 8, unit.length & 0xff]);
  const head = Buffer.from([1, sps[1] ?? 0, sps[2] ?? 0, sps[3] ?? 0, 0xff, 0xe1]);
  return Buffer.concat([head, length(sps), sps, Buffer.from([1]), length(pps), pps]);
}

/** Width and height of a sequence parameter set of a profile without chroma format (ITU-T H.264, section 7.3.2.1.1). */
function sizeOf(sps: Buffer): { width: number; height: number } | undefined {
  try {
    const bits = new BitReader(Buffer.from(sps.toString('latin1').replaceAll('\0\0\x03', '\0\0'), 'latin1').subarray(1));
    const profile = bits.read(8);
    // Rooms support the constrained baseline profile only.
    if (![66, 77, 88].includes(profile)) return undefined;
    bits.skip(16);
    bits.unsigned();
    bits.unsigned();
    const order = bits.unsigned();
    if (order === 0) bits.unsigned();
    if (order === 1) {
      bits.skip(1);
      bits.signed();
      bits.signed();
      for (let left = bits.unsigned(); left > 0; left -= 1) bits.signed();
    }
    bits.unsigned();
    bits.skip(1);
    const width = (bits.unsigned() + 1) * 16;
    const rows = bits.unsigned() + 1;
    const frames = bits.read(1);
    if (frames === 0) bits.skip(1);
    bits.skip(1);
    const height = rows * 16 * (2 - frames);
    if (bits.read(1) === 0) return { width, height };
    const [left, right, top, bottom] = [bits.unsigned(), bits.unsigned(), bits.unsigned(), bits.unsigned()];
    return { width: width - (left + right) * 2, height: height - (top + bottom) * 2 * (2 - frames) };
  } catch {
    return undefined;
  }
}

/** Replaces lengths by start codes (ITU-T H.264, annex B), as decoders require. Modifies the bytes. */
export function toAnnexB(frame: Buffer): Buffer {
  for (let at = 0; at + 4 <= frame.length; ) {
    const length = frame.readUInt32BE(at);
    frame.writeUInt32BE(1, at);
    at += 4 + length;
  }
  return frame;
}

/** Complete parameter sets of an AVCDecoderConfigurationRecord (ISO/IEC 14496-15, section 5.3.3.1), with start codes. */
export function parameterSets(configuration: Buffer): Buffer {
  const units: Buffer[] = [];
  let at = 5;
  // First the sequence parameter sets, then the picture parameter sets.
  for (const mask of [0x1f, 0xff]) {
    const count = (configuration[at] ?? 0) & mask;
    at += 1;
    for (let index = 0; index < count && at + 2 <= configuration.length; index += 1) {
      const length = configuration.readUInt16BE(at);
      units.push(Buffer.from([0, 0, 0, 1]), configuration.subarray(at + 2, at + 2 + length));
      at += 2 + length;
    }
  }
  return Buffer.concat(units);
}
