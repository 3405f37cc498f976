// Puts the packets of a video track together to whole pictures; behind a loss nothing goes out until the next key picture.
import type { OrderedPacket } from './jitter-buffer.ts';

export type Picture = { data: Buffer; key: boolean };
/** `codecPrivate`: what Matroska calls so. */
export type VideoDescription = { width: number; height: number; codecPrivate?: Buffer | undefined };

/** How one codec is carried in RTP. */
export interface VideoFormat {
  /** Whether nothing of the picture comes before this payload, as far as it shows. */
  begins(payload: Buffer): boolean;
  /** Forgets what was added: a new picture. */
  reset(): void;
  /** Takes the payload of one packet. False where it is broken, or nothing for us. */
  add(payload: Buffer): boolean;
  /** What was added as one picture. */
  take(): Picture | undefined;
  /** What a player must know to begin with this key picture; undefined where it does not say. */
  describe(key: Picture): VideoDescription | undefined;
}

export type AssemblerOptions = {
  format: VideoFormat;
  /** `arrival`: of its last packet. */
  onPicture: (picture: Picture & { timestamp: number; arrival: number }) => void;
  /** A key picture is needed; called for each picture that cannot be used. */
  onKeyNeeded: () => void;
};

/** Bytes of the largest picture that is taken. */
const maxPicture = 8 * 1024 * 1024;

export class VideoAssembler {
  readonly #options: AssemblerOptions;
  #timestamp: number | undefined;
  #intact = false;
  #size = 0;
  #keyNeeded = true;
  /** Nothing came yet, so something may be missing before. */
  #first = true;

  constructor(options: AssemblerOptions) {
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
      this.#size = 0;
      format.reset();
      this.#intact = (lost === 0 && !this.#first) || format.begins(payload);
      this.#first = false;
    }
    this.#size += payload.length;
    if (this.#size > maxPicture || !format.add(payload)) this.#intact = false;
    if (!marker) return;
    const picture = this.#intact ? format.take() : undefined;
    this.#size = 0;
    this.#intact = false;
    if (!picture) this.#loss();
    else if (this.#keyNeeded && !picture.key) this.#options.onKeyNeeded();
    else {
      this.#keyNeeded = false;
      this.#options.onPicture({ ...picture, timestamp, arrival });
    }
  }

  #loss(): void {
    this.#intact = false;
    this.#keyNeeded = true;
    this.#options.onKeyNeeded();
  }
}
