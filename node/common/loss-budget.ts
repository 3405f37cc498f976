// Loss budget: how often something may be lost within ten minutes and continue: a process, or a leg of a room.

/** Window of the budget in milliseconds. */
const period = 10 * 60_000;

export class LossBudget {
  readonly #allowed: number;
  #losses: number[] = [];

  /** `allowed`: losses within the window. */
  constructor(allowed: number) {
    this.#allowed = allowed;
  }

  /** Uses one loss of the budget. `now`: milliseconds of any monotonic clock. @returns false if none is left */
  take(now: number): boolean {
    this.#losses = this.#losses.filter((at) => now - at < period);
    if (this.#losses.length >= this.#allowed) return false;
    this.#losses.push(now);
    return true;
  }
}
