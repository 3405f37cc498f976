// Audio mixer of a stream: sums all tracks and limits the result.
import { Limiter, limiterDelay } from '../audio/limiter.ts';

/** Adds its samples from `from` on. @returns their loudness, from 0 to 1 */
export type MixSource = { mixInto: (from: number, left: Float32Array, right: Float32Array) => number };

export class AudioMixer {
  readonly #limiter = new Limiter();
  readonly #left: Float32Array;
  readonly #right: Float32Array;
  #made = 0;

  /** `block`: samples per next(). */
  constructor(block: number) {
    this.#left = new Float32Array(block);
    this.#right = new Float32Array(block);
  }

  /** Number of mixed samples per channel. */
  get made(): number {
    return this.#made;
  }

  /** Next sample that is read from tracks; it is ahead of the output by the latency of the limiter. */
  get reads(): number {
    return this.#made + limiterDelay;
  }

  /** The next block, valid until the next call. `onLoudness`: loudness of a track in it, from 0 to 1. */
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
