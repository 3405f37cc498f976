// Frame assembler: builds frames from the packets of a video track, and drops all frames from a loss to the next key frame.
import type { OrderedPacket } from './jitter-buffer.ts';

export type EncodedFrame = { data: Buffer; key: boolean };
/** `codecPrivate`: CodecPrivate of Matroska. */
export type VideoDescription = { width: number; height: number; codecPrivate?: Buffer | undefined };

/** RTP payload format of a codec. */
export interface RtpDepacketizer {
  /** True if this payload is the start of a frame, as far as it can be detected. */
  begins(payload: Buffer): boolean;
  /** Drops added payloads, for a new frame. */
  reset(): void;
  /** Adds the payload of one packet. False if it is invalid or irrelevant. */
  add(payload: Buffer): boolean;
  /** The added payloads as one frame. */
  take(): EncodedFrame | undefined;
  /** Decoder configuration of this key frame; undefined if it has none. */
  describe(key: EncodedFrame): VideoDescription | undefined;
}

export type FrameAssemblerOptions = {
  format: RtpDepacketizer;
  /** `arrival`: arrival of its last packet. */
  onFrame: (frame: EncodedFrame & { timestamp: number; arrival: number }) => void;
  /** A key frame is required; called for each unusable frame. */
  onKeyNeeded: () => void;
};

/** Maximum bytes of a frame, and maximum packets. */
const maxFrameBytes = 4 * 1024 * 1024;
const maxPackets = 8192;
/** Maximum units (NAL units, OBUs) of a frame: each costs far more memory than its bytes. */
export const maxUnits = 4096;
/** Maximum pixels of the longer side, as in VP8. A larger size comes from a hostile client. */
const maxSide = 16_383;

export class FrameAssembler {
  readonly #options: FrameAssemblerOptions;
  #timestamp: number | undefined;
  #intact = false;
  #size = 0;
  #packets = 0;
  #keyNeeded = true;
  /** True before the first packet: packets before it may be missing. */
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
      // The last packet of the frame is missing.
      if (this.#size > 0 && this.#intact) this.#loss();
      this.#timestamp = timestamp;
      this.#begin();
      this.#intact = (lost === 0 && !this.#first) || format.begins(payload);
      this.#first = false;
    }
    this.#size += payload.length;
    this.#packets += 1;
    if (this.#intact && (this.#size > maxFrameBytes || this.#packets > maxPackets || !format.add(payload))) {
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
      this.#options.onFrame({ ...encodedFrame, timestamp, arrival });
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

/** Description of a key frame; undefined if it is missing or implausible. */
export function describeFrame(format: RtpDepacketizer, key: EncodedFrame): VideoDescription | undefined {
  const description = format.describe(key);
  if (!description) return undefined;
  const isSide = (pixels: number) => pixels >= 1 && pixels <= maxSide;
  return isSide(description.width) && isSide(description.height) ? description : undefined;
}
