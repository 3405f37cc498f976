// Puts the packets of a video track together to whole pictures; behind a loss nothing goes out until the next key picture.
import type { OrderedPacket } from './jitter-buffer.ts';

export type EncodedFrame = { data: Buffer; key: boolean };
/** `codecPrivate`: what Matroska calls so. */
export type VideoDescription = { width: number; height: number; codecPrivate?: Buffer | undefined };

/** How one codec is carried in RTP. */
export interface RtpDepacketizer {
  /** Whether nothing of the picture comes before this payload, as far as it shows. */
  begins(payload: Buffer): boolean;
  /** Forgets what was added: a new picture. */
  reset(): void;
  /** Takes the payload of one packet. False where it is broken, or nothing for us. */
  add(payload: Buffer): boolean;
  /** What was added as one picture. */
  take(): EncodedFrame | undefined;
  /** What a player must know to begin with this key picture; undefined where it does not say. */
  describe(key: EncodedFrame): VideoDescription | undefined;
}

export type FrameAssemblerOptions = {
  format: RtpDepacketizer;
  /** `arrival`: of its last packet. */
  onPicture: (picture: EncodedFrame & { timestamp: number; arrival: number }) => void;
  /** A key picture is needed; called for each picture that cannot be used. */
  onKeyNeeded: () => void;
};

/** Bytes of the largest picture that is taken, and its packets. */
const maxPicture = 4 * 1024 * 1024;
const maxPackets = 8192;
/** Units (NAL units, OBUs) of a picture that a format takes: each costs far more memory than its bytes. */
export const maxUnits = 4096;
/** Pixels of the longer side: what VP8 can say. A size beyond is nonsense of a stranger. */
const maxSide = 16_383;

export class FrameAssembler {
  readonly #options: FrameAssemblerOptions;
  #timestamp: number | undefined;
  #intact = false;
  #size = 0;
  #packets = 0;
  #keyNeeded = true;
  /** Nothing came yet, so something may be missing before. */
  #first = true;

  constructor(options: FrameAssemblerOptions) {
    this.#options = options;
  }

  push({ timestamp, marker, payload, lost, arrival }: OrderedPacket): void {
    const { format } = this.#options;
    if (lost > 0) this.#loss();
    // Padding, which senders use to probe for bandwidth.
    if (payload.length === 0) return;
    if (timestamp !== this.#timestamp) {
      // A picture whose last packet did not come.
      if (this.#size > 0 && this.#intact) this.#loss();
      this.#timestamp = timestamp;
      this.#begin();
      this.#intact = (lost === 0 && !this.#first) || format.begins(payload);
      this.#first = false;
    }
    this.#size += payload.length;
    this.#packets += 1;
    if (this.#intact && (this.#size > maxPicture || this.#packets > maxPackets || !format.add(payload))) {
      this.#intact = false;
      format.reset();
    }
    if (!marker) return;
    const encodedFrame = this.#intact ? format.take() : undefined;
    this.#begin();
    this.#intact = false;
    if (!encodedFrame) this.#loss();
    else if (this.#keyNeeded && !encodedFrame.key) this.#options.onKeyNeeded();
    else {
      this.#keyNeeded = false;
      this.#options.onPicture({ ...encodedFrame, timestamp, arrival });
    }
  }

  #begin(): void {
    this.#size = 0;
    this.#packets = 0;
    this.#options.format.reset();
  }

  #loss(): void {
    this.#intact = false;
    this.#keyNeeded = true;
    this.#options.onKeyNeeded();
  }
}

/** What the key picture says of itself; undefined where that is nothing, or nonsense. */
export function describePicture(format: RtpDepacketizer, key: EncodedFrame): VideoDescription | undefined {
  const description = format.describe(key);
  if (!description) return undefined;
  const isSide = (pixels: number) => pixels >= 1 && pixels <= maxSide;
  return isSide(description.width) && isSide(description.height) ? description : undefined;
}
