// Times of frames in a file: by the spacing of their timestamps, unless those jump.

/** A difference from arrival, in milliseconds, that no network makes: the source counts anew. */
const maxDifference = 5000;

type Anchor = { timestamp: number; arrival: number; time: number };

export class Timeline {
  readonly #rate: number;
  /** The first frame, or the one at which the source began to count anew. */
  #anchor: Anchor | undefined;
  #last = -1;

  constructor(clockRate: number) {
    this.#rate = clockRate;
  }

  /** Whole milliseconds since the first frame, each more than the one before. `arrival`: milliseconds of any clock that does not go back. */
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
