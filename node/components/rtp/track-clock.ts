// Which wall clock time the timestamps of one source have: by its sender reports, before the first of them by arrival.

export type TrackClockOptions = { clockRate: number };

/** Milliseconds by which a sender report may differ from arrival: the clock of one that differs more is not ours. */
const maxDifference = 2000;
/** Part of a new report's word that is believed at once: reports jitter, clocks drift slowly. */
const trust = 0.25;
/** Beyond so many milliseconds the source's clock was set: believed in full. */
const jump = 50;

/** Times are milliseconds since 1970; timestamps are unwrapped. */
export class TrackClock {
  readonly #rate: number;
  #byArrival = Number.POSITIVE_INFINITY;
  #byReport: number | undefined;

  constructor({ clockRate }: TrackClockOptions) {
    this.#rate = clockRate;
  }

  /** The packet that was on its way the shortest shows best when its source sent it. */
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
