// Blocking playlist requests: requests that wait for the same part share one timer and one wake-up.
import { ServiceError } from '../../../../api/errors.ts';
import { Timer } from '../../../common/timer.ts';

type Wait = { isOver: () => boolean; settled: PromiseWithResolvers<boolean>; deadline: Timer; waiting: number };

/** Maximum of waiting requests. */
const maxWaiting = 20_000;

export class BlockingRequests {
  readonly #waits = new Map<string, Wait>();
  #waiting = 0;

  /** Number of different conditions that are waited for. */
  get kinds(): number {
    return this.#waits.size;
  }

  /** Number of waiting requests. */
  get size(): number {
    return this.#waiting;
  }

  /**
   * Resolves when `isOver` is true or the client disconnects. `key`: the same for equal conditions. `deadline`: milliseconds. @throws
   * ServiceError `unavailable` after the deadline, or if too many requests wait
   */
  async wait(key: string, { isOver, deadline, signal }: { isOver: () => boolean; deadline: number; signal: AbortSignal }): Promise<void> {
    if (isOver() || signal.aborted) return;
    if (this.#waiting >= maxWaiting) throw new ServiceError('unavailable', 'Too many requests for this stream', { retryAfter: 1 });
    const wait = this.#waits.get(key) ?? this.#begin(key, isOver, deadline);
    const left = Promise.withResolvers<boolean>();
    const leave = () => left.resolve(true);
    signal.addEventListener('abort', leave);
    this.#waiting += 1;
    wait.waiting += 1;
    try {
      const came = await Promise.race([wait.settled.promise, left.promise]);
      if (!came) throw new ServiceError('unavailable', 'The stream has stalled', { retryAfter: 1 });
    } finally {
      this.#waiting -= 1;
      wait.waiting -= 1;
      signal.removeEventListener('abort', leave);
      // The last request with this condition has ended.
      if (wait.waiting === 0 && this.#waits.get(key) === wait) this.#end(key, wait, false);
    }
  }

  /** The stream changed: wakes the requests whose condition is true. */
  check(): void {
    for (const [key, wait] of this.#waits) if (wait.isOver()) this.#end(key, wait, true);
  }

  #begin(key: string, isOver: () => boolean, deadline: number): Wait {
    const wait: Wait = {
      isOver,
      settled: Promise.withResolvers<boolean>(),
      deadline: new Timer(deadline, () => this.#end(key, wait, false)),
      waiting: 0,
    };
    this.#waits.set(key, wait);
    return wait;
  }

  #end(key: string, { settled, deadline }: Wait, came: boolean): void {
    this.#waits.delete(key);
    deadline.stop();
    settled.resolve(came);
  }
}
