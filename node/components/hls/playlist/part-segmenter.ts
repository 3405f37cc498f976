// Part segmenter: cuts encoded packets into parts and segments. Each part is one fragment with exactly the announced duration.
import { aacSamples } from '../../ffmpeg/audio-encoder.ts';
import type { EncodedPacket } from '../../ffmpeg/encoded-packet.ts';
import { type FragmentMuxer, mp4Rates } from '../../ffmpeg/mp4.ts';
import type { GopTiming } from '../composer/frame-schedule.ts';

/** `first`: number of its first frame. Durations are milliseconds. */
export type EncodedPart = { bytes: Buffer; segment: number; first: number; duration: number; independent: boolean };

export type PartSegmenterOptions = {
  muxer: FragmentMuxer;
  rhythm: GopTiming;
  firstSegment: number;
  onPart: (encodedPart: EncodedPart) => void;
};

/** Samples of audio per millisecond. */
const audioRate = mp4Rates.audio / 1000;

export class PartSegmenter {
  readonly #options: PartSegmenterOptions;
  #audio: EncodedPacket[] = [];
  /** Not written yet: its duration is known when the next packet arrives. */
  #held: EncodedPacket | undefined;
  /** First frame of the current part. */
  #first = 0;
  #independent = false;

  constructor(options: PartSegmenterOptions) {
    this.#options = options;
  }

  addAudio(encoded: readonly EncodedPacket[]): void {
    // Packets before time 0 only prime the encoder.
    for (const packet of encoded) if (packet.timestamp >= 0) this.#audio.push(packet);
  }

  /** Timestamps count frames; each part gets one at its beginning. Not reentrant. */
  async addFrame(frame: EncodedPacket): Promise<void> {
    const { perPart } = this.#options.rhythm;
    await this.#release(frame.timestamp);
    if (frame.timestamp >= this.#first + perPart) await this.#cut(this.#first + perPart);
    if (frame.timestamp === this.#first) this.#independent = frame.key;
    this.#held = frame;
    // The last frame of a part lasts until the end of the part.
    if (frame.timestamp + 1 === this.#first + perPart) {
      await this.#release(frame.timestamp + 1);
      await this.#cut(frame.timestamp + 1);
    }
  }

  /** Cuts the last part. `end`: number of the frame that would follow. */
  async finish(end: number): Promise<void> {
    if (!this.#held) return;
    await this.#release(end);
    await this.#cut(end);
  }

  async #release(end: number): Promise<void> {
    const frame = this.#held;
    this.#held = undefined;
    if (!frame) return;
    const [from, to] = [frame.timestamp, end].map((number) => this.#ticks(number));
    const { data, key } = frame;
    await this.#options.muxer.write({ track: 'video', data, key, timestamp: from ?? 0, duration: (to ?? 0) - (from ?? 0) });
  }

  async #cut(end: number): Promise<void> {
    const { muxer, rhythm, firstSegment, onPart } = this.#options;
    const until = end * rhythm.interval * audioRate;
    const count = this.#audio.findIndex(({ timestamp }) => timestamp >= until);
    for (const { data, key, timestamp } of this.#audio.splice(0, count < 0 ? this.#audio.length : count)) {
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
