// How often what crashed is started again.

/** Milliseconds in which so many restarts are allowed. */
const period = 10 * 60_000;
const restartsInPeriod = 3;

export class RestartBudget {
  #restarts: number[] = [];

  /** Takes one restart of the budget. `now`: milliseconds of any clock that does not go back. @returns false where none is left */
  take(now: number): boolean {
    this.#restarts = this.#restarts.filter((at) => now - at < period);
    if (this.#restarts.length >= restartsInPeriod) return false;
    this.#restarts.push(now);
    return true;
  }
}
