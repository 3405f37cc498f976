// A token bucket: how often something may happen, with a burst.

/** Allows `rate()` takings a second and `burst` seconds' worth of them at once. Without a rate everything is allowed. */
export class TokenBucket {
  readonly #rate: () => number | null | undefined;
  readonly #burst: number;
  readonly #now: () => number;
  #level: number;
  #filledAt: number;

  /** `now` in milliseconds, monotonic. */
  constructor(rate: () => number | null | undefined, burst: number, now: () => number = () => performance.now()) {
    this.#rate = rate;
    this.#burst = burst;
    this.#now = now;
    this.#level = Number.POSITIVE_INFINITY;
    this.#filledAt = now();
  }

  /** Takes one; false where none is left. */
  take(): boolean {
    const rate = this.#rate();
    const now = this.#now();
    const elapsed = now - this.#filledAt;
    this.#filledAt = now;
    if (rate === undefined || rate === null) return true;
    // The limit is read each time, since it may change while the node runs; an infinite start level means full.
    this.#level = Math.min(Math.max(1, rate * this.#burst), this.#level + (elapsed / 1000) * rate);
    if (this.#level < 1) return false;
    this.#level -= 1;
    return true;
  }
}
