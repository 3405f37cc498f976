// Timeline of a file: places frames by their RTP timestamps, and by arrival after a jump of the timestamps.

/** Milliseconds of difference from arrival that no network causes: the source restarted its timestamps. */
const maxDifference = 5000;

type Anchor = { timestamp: number; arrival: number; time: number };

export class Timeline {
  readonly #rate: number;
  /** The first frame, or the first frame after the source restarted its timestamps. */
  #anchor: Anchor | undefined;
  #last = -1;

  constructor(clockRate: number) {
    this.#rate = clockRate;
  }

  /** Whole milliseconds since the first frame, strictly increasing. `arrival`: milliseconds of any monotonic clock. */
  place(timestamp: number, arrival: number): number {
    let anchor: Anchor = this.#anchor ?? { timestamp, arrival, time: 0 };
    const byArrival = anchor.time + arrival - anchor.arrival;
    if (Math.abs(this.#since(anchor, timestamp) - byArrival) > maxDifference) {
      anchor = { timestamp, arrival, time: Math.max(byArrival, this.#last + 1) };
    }
    this.#anchor = anchor;
    this.#last = Math.max(Math.round(this.#since(anchor, timestamp)), this.#last + 1);
    return this.#last;
  }

  #since(anchor: Anchor, timestamp: number): number {
    return anchor.time + ((timestamp - anchor.timestamp) * 1000) / this.#rate;
  }
}
