// VP8 RTP depacketizer (RFC 7741).
import type { EncodedFrame, RtpDepacketizer, VideoDescription } from './frame-assembler.ts';

/** Start of the payload after the descriptor, and whether it starts a frame (section 4.2). */
function readDescriptor(payload: Buffer): { start: number; first: boolean } | undefined {
  const [head = 0, extension = 0, pictureId = 0] = payload;
  let start = 1;
  if (head & 0x80) {
    start += 1;
    if (extension & 0x80) start += pictureId & 0x80 ? 2 : 1;
    if (extension & 0x40) start += 1;
    if (extension & 0x30) start += 1;
  }
  return start < payload.length ? { start, first: (head & 0x10) !== 0 && (head & 0x07) === 0 } : undefined;
}

export class Vp8Depacketizer implements RtpDepacketizer {
  #parts: Buffer[] = [];

  begins(payload: Buffer): boolean {
    return readDescriptor(payload)?.first ?? false;
  }

  reset(): void {
    this.#parts = [];
  }

  add(payload: Buffer): boolean {
    const descriptor = readDescriptor(payload);
    if (!descriptor) return false;
    this.#parts.push(payload.subarray(descriptor.start));
    return true;
  }

  take(): EncodedFrame | undefined {
    const data = Buffer.concat(this.#parts);
    return data.length < 3 ? undefined : { data, key: ((data[0] ?? 1) & 1) === 0 };
  }

  /** RFC 6386, section 9.1. */
  describe({ data }: EncodedFrame): VideoDescription | undefined {
    if (data.length < 10 || data.readUIntBE(3, 3) !== 0x9d012a) return undefined;
    return { width: data.readUInt16LE(6) & 0x3fff, height: data.readUInt16LE(8) & 0x3fff };
  }
}
