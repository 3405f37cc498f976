// Restart budget of a crashed process.

/** Window of the budget in milliseconds. */
const period = 10 * 60_000;
const restartsInPeriod = 3;

export class RestartBudget {
  #restarts: number[] = [];

  /** Uses one restart of the budget. `now`: milliseconds of any monotonic clock. @returns false if none is left */
  take(now: number): boolean {
    this.#restarts = this.#restarts.filter((at) => now - at < period);
    if (this.#restarts.length >= restartsInPeriod) return false;
    this.#restarts.push(now);
    return true;
  }
}
