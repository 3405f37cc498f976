// Cuts what is encoded into parts and segments: each part is one fragment, and lasts as long as it was said to.
import { aacSamples } from '../../ffmpeg/audio-encoder.ts';
import type { EncodedPacket } from '../../ffmpeg/encoded-packet.ts';
import { type FragmentMuxer, mp4Rates } from '../../ffmpeg/mp4.ts';
import type { GopTiming } from '../composer/frame-schedule.ts';

/** `first`: number of its first picture. Durations are milliseconds. */
export type EncodedPart = { bytes: Buffer; segment: number; first: number; duration: number; independent: boolean };

export type PartSegmenterOptions = {
  muxer: FragmentMuxer;
  rhythm: GopTiming;
  firstSegment: number;
  onPart: (encodedPart: EncodedPart) => void;
};

/** Samples of sound per millisecond. */
const soundRate = mp4Rates.audio / 1000;

export class PartSegmenter {
  readonly #options: PartSegmenterOptions;
  #sound: EncodedPacket[] = [];
  /** Not written yet: how long it is seen shows with the next one. */
  #held: EncodedPacket | undefined;
  /** First picture of the part that is being made. */
  #first = 0;
  #independent = false;

  constructor(options: PartSegmenterOptions) {
    this.#options = options;
  }

  addSound(encoded: readonly EncodedPacket[]): void {
    // What is before the beginning only primes the encoder.
    for (const packet of encoded) if (packet.timestamp >= 0) this.#sound.push(packet);
  }

  /** Timestamps count pictures; each part gets one at its beginning. One call at a time. */
  async addPicture(picture: EncodedPacket): Promise<void> {
    const { perPart } = this.#options.rhythm;
    await this.#release(picture.timestamp);
    if (picture.timestamp >= this.#first + perPart) await this.#cut(this.#first + perPart);
    if (picture.timestamp === this.#first) this.#independent = picture.key;
    this.#held = picture;
    // The last one of its part lasts until the end of that, whatever comes.
    if (picture.timestamp + 1 === this.#first + perPart) {
      await this.#release(picture.timestamp + 1);
      await this.#cut(picture.timestamp + 1);
    }
  }

  /** Cuts the rest. `end`: the picture that would be next. */
  async finish(end: number): Promise<void> {
    if (!this.#held) return;
    await this.#release(end);
    await this.#cut(end);
  }

  async #release(end: number): Promise<void> {
    const picture = this.#held;
    this.#held = undefined;
    if (!picture) return;
    const [from, to] = [picture.timestamp, end].map((number) => this.#ticks(number));
    const { data, key } = picture;
    await this.#options.muxer.write({ track: 'video', data, key, timestamp: from ?? 0, duration: (to ?? 0) - (from ?? 0) });
  }

  async #cut(end: number): Promise<void> {
    const { muxer, rhythm, firstSegment, onPart } = this.#options;
    const until = end * rhythm.interval * soundRate;
    const count = this.#sound.findIndex(({ timestamp }) => timestamp >= until);
    for (const { data, key, timestamp } of this.#sound.splice(0, count < 0 ? this.#sound.length : count)) {
      await muxer.write({ track: 'audio', data, key, timestamp, duration: aacSamples });
    }
    const bytes = await muxer.cut();
    const first = this.#first;
    onPart({
      bytes,
      segment: firstSegment + Math.floor(first / rhythm.perSegment),
      first,
      duration: (end - first) * rhythm.interval,
      independent: this.#independent,
    });
    this.#first = end;
    this.#independent = false;
  }

  #ticks(number: number): number {
    return Math.round((number * this.#options.rhythm.interval * mp4Rates.video) / 1000);
  }
}
