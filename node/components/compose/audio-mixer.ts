// The sound of the stream: the sum of all tracks, kept below full scale.
import { Limiter, limiterDelay } from '../audio/limiter.ts';

/** Adds its samples from `from` on. @returns how loud they are, from 0 to 1 */
export type MixSource = { mixInto: (from: number, left: Float32Array, right: Float32Array) => number };

export class AudioMixer {
  readonly #limiter = new Limiter();
  readonly #left: Float32Array;
  readonly #right: Float32Array;
  #made = 0;

  /** `block`: samples that next() makes. */
  constructor(block: number) {
    this.#left = new Float32Array(block);
    this.#right = new Float32Array(block);
  }

  /** Samples of each channel that were made. */
  get made(): number {
    return this.#made;
  }

  /** The sample of a track that is read next: what is read comes out a little later, so that much is read ahead. */
  get reads(): number {
    return this.#made + limiterDelay;
  }

  /** The next block, valid until the next call. `onLoudness`: how loud a track is in it, from 0 to 1. */
  next<Track extends MixSource>(
    tracks: Iterable<Track>,
    onLoudness: (track: Track, loudness: number) => void,
  ): { left: Float32Array; right: Float32Array } {
    const [left, right] = [this.#left.fill(0), this.#right.fill(0)];
    for (const track of tracks) onLoudness(track, track.mixInto(this.reads, left, right));
    this.#limiter.run(left, right);
    this.#made += left.length;
    return { left, right };
  }
}
