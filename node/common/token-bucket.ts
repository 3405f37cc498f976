// A token bucket: how often something may happen, or how much of it, with a burst.

/** Allows `rate()` a second and `burst` seconds' worth of it at once. Without a rate everything is allowed. */
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

  /** Takes that much; false where less is left. What is more than a burst is taken from a full bucket, and owed. */
  take(amount = 1): boolean {
    const limit = this.#fill();
    if (limit === undefined) return true;
    if (this.#level < Math.min(amount, limit.most)) return false;
    this.#level -= amount;
    return true;
  }

  /** Takes that much whatever is left. @returns milliseconds until nothing is owed any more */
  charge(amount: number): number {
    const limit = this.#fill();
    if (limit === undefined) return 0;
    this.#level -= amount;
    return this.#level >= 0 ? 0 : (-this.#level / limit.rate) * 1000;
  }

  /** The limit is read each time, since it may change while the node runs; an infinite start level means full. */
  #fill(): { rate: number; most: number } | undefined {
    const rate = this.#rate();
    const now = this.#now();
    const elapsed = now - this.#filledAt;
    this.#filledAt = now;
    if (rate === undefined || rate === null) return undefined;
    const most = Math.max(1, rate * this.#burst);
    this.#level = Math.min(most, this.#level + (elapsed / 1000) * rate);
    return { rate, most };
  }
}
