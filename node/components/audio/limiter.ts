// Look-ahead limiter: keeps a mix below full scale by lowering the gain before a peak and restoring it slowly afterwards.

/** Maximum output level (-1 dB, because AAC overshoots a little). */
export const ceiling = 0.89;
/** Look-ahead in samples: 5 ms. */
const window = 240;
/** Latency in samples. */
export const limiterDelay = window - 1;
/** Share of the missing gain that is restored per sample: a time constant of about 400 ms at 48 kHz. */
const recovery = 1 / 19_200;
/** Difference to full gain that is inaudible. */
const inaudible = 1e-4;

export class Limiter {
  /** Delay line. */
  readonly #left = new Float32Array(window);
  readonly #right = new Float32Array(window);
  /** Ring buffers of the maximum gains for the samples ahead, and of these after recovery. */
  readonly #needed = new Float64Array(window).fill(1);
  readonly #slow = new Float64Array(window).fill(1);
  #slowSum = window;
  #gain = 1;
  /** Minimum of `needed`, and its age in samples. */
  #least = 1;
  #minimumAge = 0;
  #at = 0;

  /** Processes the samples in place, with a latency of `limiterDelay` samples. Mono uses `left` only. */
  run(left: Float32Array, right: Float32Array = left): void {
    if (this.#isAtRest() && isQuiet(left) && (right === left || isQuiet(right))) {
      this.#delay(left, right);
      return;
    }
    for (let index = 0; index < left.length; index += 1) {
      const [newLeft, newRight] = [left[index] ?? 0, right[index] ?? 0];
      const at = this.#at;
      this.#left[at] = newLeft;
      this.#right[at] = newRight;
      const peak = Math.max(Math.abs(newLeft), Math.abs(newRight));
      const gain = this.#next(peak > ceiling ? ceiling / peak : 1);
      this.#at = (at + 1) % window;
      left[index] = (this.#left[this.#at] ?? 0) * gain;
      right[index] = (this.#right[this.#at] ?? 0) * gain;
    }
  }

  /** True if all gains are at full scale; an inaudible rest is rounded up. */
  #isAtRest(): boolean {
    if (this.#least < 1 || 1 - this.#gain > inaudible || window - this.#slowSum > inaudible) return false;
    if (this.#gain === 1 && this.#slowSum === window) return true;
    this.#needed.fill(1);
    this.#slow.fill(1);
    this.#slowSum = window;
    this.#gain = 1;
    return true;
  }

  #delay(left: Float32Array, right: Float32Array): void {
    for (let index = 0; index < left.length; index += 1) {
      this.#left[this.#at] = left[index] ?? 0;
      this.#right[this.#at] = right[index] ?? 0;
      this.#at = (this.#at + 1) % window;
      left[index] = this.#left[this.#at] ?? 0;
      right[index] = this.#right[this.#at] ?? 0;
    }
  }

  /** Gain of the oldest sample after adding one: the mean of gains that are all low enough for it, so it is never too high. */
  #next(needed: number): number {
    const at = this.#at;
    this.#needed[at] = needed;
    this.#minimumAge += 1;
    if (needed <= this.#least) {
      this.#least = needed;
      this.#minimumAge = 0;
    } else if (this.#minimumAge >= window) this.#findLeast();
    const recovered = this.#gain + (1 - this.#gain) * recovery;
    this.#gain = Math.min(this.#least, recovered);
    this.#slowSum += this.#gain - (this.#slow[at] ?? 1);
    this.#slow[at] = this.#gain;
    return Math.min(1, this.#slowSum / window);
  }

  #findLeast(): void {
    this.#least = 1;
    this.#minimumAge = 0;
    // From newest to oldest, so that the newest of equal values is found.
    for (let age = 0; age < window; age += 1) {
      const value = this.#needed[(this.#at - age + window) % window] ?? 1;
      if (value < this.#least) {
        this.#least = value;
        this.#minimumAge = age;
      }
    }
  }
}

function isQuiet(samples: Float32Array): boolean {
  for (let index = 0; index < samples.length; index += 1) if (Math.abs(samples[index] as number) > ceiling) return false;
  return true;
}
