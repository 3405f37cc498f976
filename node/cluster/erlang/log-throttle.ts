// Keeps what anybody can cause from filling the log.

/** Lets a number of lines through in each period, in milliseconds, and counts the others. */
export class LogThrottle {
  readonly #lines: number;
  readonly #period: number;
  #since = 0;
  #passed = 0;
  #held = 0;

  constructor(lines = 10, period = 10_000) {
    this.#lines = lines;
    this.#period = period;
  }

  /** How many lines were held back since the last one, or undefined where this one is held back as well. */
  pass(now = performance.now()): number | undefined {
    if (now - this.#since >= this.#period) {
      this.#since = now;
      this.#passed = 0;
    }
    if (this.#passed >= this.#lines) {
      this.#held += 1;
      return undefined;
    }
    this.#passed += 1;
    const held = this.#held;
    this.#held = 0;
    return held;
  }
}
