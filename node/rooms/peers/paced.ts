// Throttle: a value that changes at any time and is published at most once a second.
import { Timer } from '../../common/timer.ts';

/** Minimum interval between two published changes, in milliseconds. */
const interval = 1_000;

/** Publishes a change at once if the last one is a second old; otherwise only the latest value, at the end of that second. */
export class Paced<Value> {
  readonly #show: (value: Value) => boolean;
  #waiting: { value: Value } | undefined;
  #timer: Timer | undefined;

  /** `show` returns whether the value changed. */
  constructor(show: (value: Value) => boolean) {
    this.#show = show;
  }

  set(value: Value): void {
    if (this.#timer) this.#waiting = { value };
    else this.#showNow(value);
  }

  /** Drops the pending value. */
  drop(): void {
    this.#waiting = undefined;
  }

  /** Drops the pending value and ends the interval. */
  stop(): void {
    this.#timer?.stop();
    this.#timer = undefined;
    this.drop();
  }

  #showNow(value: Value): void {
    if (!this.#show(value)) return;
    this.#timer = new Timer(interval, () => {
      this.#timer = undefined;
      const waiting = this.#waiting;
      this.#waiting = undefined;
      if (waiting) this.#showNow(waiting.value);
    });
  }
}
