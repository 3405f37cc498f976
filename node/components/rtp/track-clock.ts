// Track clock: maps timestamps of one source to wall-clock time by sender reports, or by arrival before the first report.

export type TrackClockOptions = { clockRate: number };

/** Maximum difference of a sender report to arrival in milliseconds: beyond it, the clock of the sender is not synchronized. */
const maxDifference = 2000;
/** Weight of a new report: reports jitter, while clocks drift slowly. */
const trust = 0.25;
/** Milliseconds beyond which the clock of the source was set: the report applies fully. */
const jump = 50;

/** Times are milliseconds since 1970; timestamps are unwrapped. */
export class TrackClock {
  readonly #rate: number;
  #byArrival = Number.POSITIVE_INFINITY;
  #byReport: number | undefined;

  constructor({ clockRate }: TrackClockOptions) {
    this.#rate = clockRate;
  }

  /** The packet with the shortest transit time is the best estimate of the send time. */
  arrived(timestamp: number, time: number): void {
    this.#byArrival = Math.min(this.#byArrival, time - this.#milliseconds(timestamp));
  }

  reported(timestamp: number, time: number): void {
    const offset = time - this.#milliseconds(timestamp);
    if (Math.abs(offset - this.#byArrival) > maxDifference) return;
    const known = this.#byReport;
    const change = known === undefined ? 0 : offset - known;
    this.#byReport = known === undefined || Math.abs(change) > jump ? offset : known + change * trust;
  }

  /** Undefined before the first packet. */
  timeOf(timestamp: number): number | undefined {
    const offset = this.#byReport ?? this.#byArrival;
    return Number.isFinite(offset) ? this.#milliseconds(timestamp) + offset : undefined;
  }

  #milliseconds(timestamp: number): number {
    return (timestamp * 1000) / this.#rate;
  }
}
