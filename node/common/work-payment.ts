// Work payment: charges work to a budget, and waits until it is paid.
import { Timer } from './timer.ts';
import type { TokenBucket } from './token-bucket.ts';

/** Work that exceeds the budget waits, together with what comes after it, so that no honest client is rejected. */
export class WorkPayment {
  readonly #work: TokenBucket;
  #pause: { timer: Timer; over: () => void } | undefined;

  constructor(work: TokenBucket) {
    this.#work = work;
  }

  async pay(cost: number): Promise<void> {
    const delay = cost === 0 ? 0 : this.#work.charge(cost);
    if (delay === 0) return;
    await new Promise<void>((over) => {
      this.#pause = { timer: new Timer(delay, over), over };
    });
    this.#pause = undefined;
  }

  /** Ends the wait. Idempotent. */
  end(): void {
    this.#pause?.timer.stop();
    this.#pause?.over();
  }
}
