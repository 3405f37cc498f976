// VP9 RTP depacketizer (RFC 9628), with one or several spatial layers.
import { BitReader } from './bits.ts';
import type { EncodedFrame, RtpDepacketizer, VideoDescription } from './frame-assembler.ts';

type Descriptor = { start: number; first: boolean; last: boolean; inter: boolean; layer: number };

/** Section 4.2. */
function readDescriptor(payload: Buffer): Descriptor | undefined {
  const head = payload[0] ?? 0;
  let at = 1;
  const next = () => payload[at++] ?? 0;
  const [hasPictureId, inter, hasLayers, flexible, first, last, hasStructure] = [0x80, 0x40, 0x20, 0x10, 0x08, 0x04, 0x02].map(
    (bit) => (head & bit) !== 0,
  );
  if (hasPictureId && next() & 0x80) at += 1;
  let layer = 0;
  if (hasLayers) {
    layer = (next() >> 1) & 7;
    if (!flexible) at += 1;
  }
  if (flexible && inter) for (let count = 0; count < 3 && next() & 1; count += 1);
  if (hasStructure) {
    const structure = next();
    if (structure & 0x10) at += ((structure >> 5) + 1) * 4;
    for (let left = structure & 0x08 ? next() : 0; left > 0; left -= 1) {
      const references = (next() >> 2) & 3;
      at += references;
    }
  }
  if (at >= payload.length) return undefined;
  return { start: at, first: first === true, last: last === true, inter: inter === true, layer };
}

/** Frames of a superframe (VP9 bitstream specification, annex B). */
const maxFrames = 8;

export class Vp9Depacketizer implements RtpDepacketizer {
  /** Layer frames of the current superframe, each with its parts. */
  #frames: Buffer[][] = [];
  #key = false;

  begins(payload: Buffer): boolean {
    const descriptor = readDescriptor(payload);
    return descriptor?.first === true && descriptor.layer === 0;
  }

  reset(): void {
    this.#frames = [];
    this.#key = false;
  }

  add(payload: Buffer): boolean {
    const descriptor = readDescriptor(payload);
    if (!descriptor) return false;
    if (descriptor.first) {
      if (this.#frames.length === 0) this.#key = !descriptor.inter;
      if (this.#frames.length >= maxFrames) return false;
      this.#frames.push([]);
    }
    this.#frames.at(-1)?.push(payload.subarray(descriptor.start));
    return this.#frames.length > 0;
  }

  take(): EncodedFrame | undefined {
    const frames = this.#frames.map((parts) => Buffer.concat(parts));
    if (frames.length === 0) return undefined;
    const [base = Buffer.alloc(0)] = frames;
    return { data: frames.length === 1 ? base : superframe(frames), key: this.#key && isKeyFrame(base) };
  }

  /** The uncompressed header of a key frame (VP9 bitstream specification, section 6.2). */
  describe({ data }: EncodedFrame): VideoDescription | undefined {
    try {
      const bits = new BitReader(data);
      if (bits.read(2) !== 2) return undefined;
      const profile = bits.read(1) + bits.read(1) * 2;
      // Other profiles have more bits here; rooms support profile 0 only.
      if (profile !== 0 || bits.read(1) === 1 || bits.read(1) === 1) return undefined;
      bits.skip(2);
      if (bits.read(24) !== 0x498342) return undefined;
      const srgb = bits.read(3) === 7;
      if (srgb) return undefined;
      bits.skip(1);
      return { width: bits.read(16) + 1, height: bits.read(16) + 1 };
    } catch {
      return undefined;
    }
  }
}

/**
 * Determined from the frame (VP9 bitstream specification, section 6.2, profiles 0 to 2), because not all senders set the inter-picture bit
 * in RTP.
 */
function isKeyFrame(frame: Buffer): boolean {
  const [showsExisting, isInter] = [0x08, 0x04];
  return ((frame[0] ?? 0xff) & (showsExisting | isInter)) === 0;
}

/** Several frames in one, followed by an index (VP9 bitstream specification, annex B). */
function superframe(frames: readonly Buffer[]): Buffer {
  const marker = 0xc0 | (3 << 3) | (frames.length - 1);
  const sizes = Buffer.alloc(frames.length * 4);
  for (const [index, frame] of frames.entries()) sizes.writeUInt32LE(frame.length, index * 4);
  return Buffer.concat([...frames, Buffer.from([marker]), sizes, Buffer.from([marker])]);
}
