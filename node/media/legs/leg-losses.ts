// Leg losses: decides whether a room continues after the media worker of a leg died.

/** Lost legs within the period with which a room ends, because its packets may be the cause. */
const maxLosses = 3;
/** In milliseconds. */
const period = 10 * 60_000;

export class LegLosses {
  readonly #now: () => number;
  #losses: number[] = [];

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts a lost leg. @returns false if the room must end */
  count(): boolean {
    const now = this.#now();
    this.#losses = [...this.#losses.filter((at) => now - at < period), now];
    return this.#losses.length < maxLosses;
  }
}
