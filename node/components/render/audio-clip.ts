// The sound of a clip: decoded a little before it is mixed, at its place among the samples.

import { MixerInput } from '../compose/mixer-input.ts';
import { AudioDecoder } from '../ffmpeg/audio-decoder.ts';
import { AvError } from '../ffmpeg/ffmpeg.ts';
import { mp4Rates } from '../ffmpeg/mp4.ts';
import { ClipPackets } from './clip-packets.ts';
import type { Clip } from './plan.ts';

const samplesPerMillisecond = mp4Rates.audio / 1000;
/** Samples that are decoded ahead: so that the line sees what follows, and does not fade. */
const ahead = 480;

export class AudioClip {
  readonly kind = 'audio';
  readonly clip: Clip;
  readonly #packets: ClipPackets;
  readonly #decoder = new AudioDecoder({ codec: 'opus', channels: 2 });
  readonly #line: MixerInput;
  /** Behind its last sample. */
  #end = 0;
  #decoded = 0;
  #failed = 0;

  private constructor(clip: Clip, packets: ClipPackets, from: number) {
    this.clip = clip;
    this.#packets = packets;
    this.#line = new MixerInput(from);
  }

  /** `from`: the sample that is read first. @throws Error with a sentence where there is nothing to be heard */
  static async open(folder: string, clip: Clip, from: number): Promise<AudioClip> {
    const packets = await ClipPackets.open(folder, clip);
    try {
      return new AudioClip(clip, packets, from);
    } catch (error) {
      packets.close();
      throw error;
    }
  }

  /** Packets that were decoded, and sentences about the rest; whole when it has ended. */
  get outcome(): { played: number; problems: string[] } {
    const { problem } = this.#packets;
    const lost = this.#failed === 0 ? [] : [`${this.#failed} of its packets cannot be decoded`];
    return { played: this.#decoded, problems: [...lost, ...(problem === undefined ? [] : [problem])] };
  }

  hasEnded(time: number): boolean {
    return this.#packets.over && time * samplesPerMillisecond >= this.#end;
  }

  /** Decodes what is needed for all samples before `until`. One call at a time. */
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
        // What cannot be decoded is a hole.
        if (!(error instanceof AvError)) throw error;
        this.#failed += 1;
      }
    }
  }

  /** Adds its samples from `from` on. @returns how loud they are, from 0 to 1 */
  mixInto(from: number, left: Float32Array, right: Float32Array): number {
    return this.#line.read(from, left, right);
  }

  /** Idempotent. */
  close(): void {
    this.#packets.close();
    this.#decoder.close();
  }
}
