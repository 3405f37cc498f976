// A value that may be changed at any time, and is shown to others once a second at most.
import { Timer } from '../common/timer.ts';

/** Milliseconds between two changes that are shown. */
const interval = 1_000;

/** A change is shown at once where the last is a second old; of those that come before that, the last is shown at the end of the second. */
export class Paced<Value> {
  readonly #show: (value: Value) => boolean;
  #waiting: { value: Value } | undefined;
  #timer: Timer | undefined;

  /** `show` says whether it was a change at all. */
  constructor(show: (value: Value) => boolean) {
    this.#show = show;
  }

  set(value: Value): void {
    if (this.#timer) this.#waiting = { value };
    else this.#showNow(value);
  }

  /** What waits is forgotten. */
  stop(): void {
    this.#timer?.stop();
    this.#timer = undefined;
    this.#waiting = undefined;
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
