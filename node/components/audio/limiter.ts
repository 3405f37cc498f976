// Keeps a sum of sounds below full scale by turning it down a little before a peak and slowly up again behind it: nothing is cut off.

/** The loudest that comes out (-1 dB: AAC overshoots a little). */
export const ceiling = 0.89;
/** Samples that are seen at once: 5 ms. */
const window = 240;
/** Samples by which what comes out is late. */
export const limiterDelay = window - 1;
/** Part of the way back to full loudness that is gone per sample: about 400 ms at 48 kHz. */
const recovery = 1 / 19_200;
/** Of full loudness. */
const inaudible = 1e-4;

export class Limiter {
  /** What waits for what comes behind it. */
  readonly #left = new Float32Array(window);
  readonly #right = new Float32Array(window);
  /** Gains that the samples ahead need at most, and those after recovery; rings, as the sounds are. */
  readonly #needed = new Float64Array(window).fill(1);
  readonly #slow = new Float64Array(window).fill(1);
  #slowSum = window;
  #gain = 1;
  /** The smallest of `needed`, and how old it is in samples. */
  #least = 1;
  #minimumAge = 0;
  #at = 0;

  /** Changes the samples in place; they come out `limiterDelay` samples late. One channel is `left` alone. */
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

  /** Whether all is at full loudness; what is missing to it by less than anybody hears is given. */
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

  /** The gain for the oldest sample, with one more seen: the mean of gains each of which is low enough for it, so it never is too high. */
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
    // From the newest to the oldest, so that of equal ones the newest counts.
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
