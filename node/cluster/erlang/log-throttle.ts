// Log throttle: limits log lines that remote hosts can trigger.

/** Passes a number of lines per period in milliseconds and counts the suppressed ones. */
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

  /** Number of lines suppressed since the last one, or undefined if this one is suppressed too. */
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
