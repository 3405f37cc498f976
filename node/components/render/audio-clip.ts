// Audio clip: decodes its samples shortly before they are mixed, at their position in the output.

import { MixerInput } from '../compose/mixer-input.ts';
import { AudioDecoder } from '../ffmpeg/audio-decoder.ts';
import { AvError } from '../ffmpeg/ffmpeg.ts';
import { mp4Rates } from '../ffmpeg/mp4.ts';
import { ClipPackets } from './clip-packets.ts';
import type { Clip } from './plan.ts';

const samplesPerMillisecond = mp4Rates.audio / 1000;
/** Samples decoded ahead, so that the mixer input sees the next samples and does not fade out. */
const ahead = 480;

export class AudioClip {
  readonly kind = 'audio';
  readonly clip: Clip;
  readonly #packets: ClipPackets;
  readonly #decoder = new AudioDecoder({ codec: 'opus', channels: 2 });
  readonly #line: MixerInput;
  /** Position after its last sample. */
  #end = 0;
  #decoded = 0;
  #failed = 0;

  private constructor(clip: Clip, packets: ClipPackets, from: number) {
    this.clip = clip;
    this.#packets = packets;
    this.#line = new MixerInput(from);
  }

  /** `from`: first sample to read. @throws Error if the file has no audio */
  static async open(folder: string, clip: Clip, from: number): Promise<AudioClip> {
    const packets = await ClipPackets.open(folder, clip);
    try {
      return new AudioClip(clip, packets, from);
    } catch (error) {
      packets.close();
      throw error;
    }
  }

  /** Number of decoded packets, and messages about the rest; final after the end. */
  get outcome(): { played: number; problems: string[] } {
    const { problem } = this.#packets;
    const lost = this.#failed === 0 ? [] : [`${this.#failed} of its packets could not be decoded`];
    return { played: this.#decoded, problems: [...lost, ...(problem === undefined ? [] : [problem])] };
  }

  hasEnded(time: number): boolean {
    return this.#packets.over && time * samplesPerMillisecond >= this.#end;
  }

  /** Decodes all samples before `until`. Not reentrant. */
  async decodeUntil(until: number): Promise<void> {
    const before = (until + ahead) / samplesPerMillisecond;
    for (let next = await this.#packets.take(before); next; next = await this.#packets.take(before)) {
      try {
        const samples = this.#decoder.decode(next.data);
        const at = Math.round(next.time * samplesPerMillisecond);
        this.#line.write(at, samples);
        this.#end = Math.max(this.#end, at + samples.length / 2);
        this.#decoded += 1;
      } catch (error) {
        // Samples that cannot be decoded become silence.
        if (!(error instanceof AvError)) throw error;
        this.#failed += 1;
      }
    }
  }

  /** Adds its samples from `from` on. @returns their loudness, from 0 to 1 */
  mixInto(from: number, left: Float32Array, right: Float32Array): number {
    return this.#line.read(from, left, right);
  }

  /** Idempotent. */
  close(): void {
    this.#packets.close();
    this.#decoder.close();
  }
}
