// Token bucket: limits the rate of operations or bytes, with a burst.

/** Allows `rate()` tokens per second and a burst of `burst` seconds. Unlimited if the rate is null or undefined. */
export class TokenBucket {
  readonly #rate: () => number | null | undefined;
  readonly #burst: number;
  readonly #now: () => number;
  #level: number;
  #filledAt: number;

  /** `now`: monotonic clock in milliseconds. */
  constructor(rate: () => number | null | undefined, burst: number, now: () => number = () => performance.now()) {
    this.#rate = rate;
    this.#burst = burst;
    this.#now = now;
    this.#level = Number.POSITIVE_INFINITY;
    this.#filledAt = now();
  }

  /** Takes `amount`; false if less is left. An amount above the burst is taken from a full bucket and leaves a debt. */
  take(amount = 1): boolean {
    const limit = this.#fill();
    if (limit === undefined) return true;
    if (this.#level < Math.min(amount, limit.most)) return false;
    this.#level -= amount;
    return true;
  }

  /** Takes `amount` regardless of the level. @returns milliseconds until the debt is paid */
  charge(amount: number): number {
    if (this.#fill() !== undefined) this.#level -= amount;
    return this.waitFor(0);
  }

  /** Milliseconds until `amount` is left. */
  waitFor(amount: number): number {
    const limit = this.#fill();
    return limit === undefined || this.#level >= amount ? 0 : ((amount - this.#level) / limit.rate) * 1000;
  }

  /** The rate is read on each call, because it is reloadable; an infinite start level means full. */
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
