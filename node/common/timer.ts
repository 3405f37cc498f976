// Times of any length: setTimeout alone fires at once beyond 2^31-1 ms (24.8 days).
import { withoutRequestContext } from './request-id.ts';

const maxTimerMs = 2 ** 31 - 1;

/** Calls back once after a time; stop() is idempotent. It never keeps the process alive by itself. */
export class Timer {
  #timeout: NodeJS.Timeout | undefined;

  constructor(delay: number, fire: () => void) {
    this.#arm(delay, fire);
  }

  stop(): void {
    clearTimeout(this.#timeout);
    this.#timeout = undefined;
  }

  #arm(delay: number, fire: () => void): void {
    const step = Math.min(delay, maxTimerMs);
    // What happens at its end is not the doing of the request that began it.
    this.#timeout = withoutRequestContext(() => setTimeout(() => (delay > step ? this.#arm(delay - step, fire) : fire()), step).unref());
  }
}

/** Resolves when all have, or after `delay` milliseconds. @throws what the first of them that fails until then throws */
export async function settleWithin(delay: number, promises: Iterable<Promise<unknown>>): Promise<void> {
  const deadline = Promise.withResolvers<void>();
  const timer = new Timer(delay, () => deadline.resolve());
  try {
    await Promise.race([Promise.all(promises), deadline.promise]);
  } finally {
    timer.stop();
  }
}

/** How often `waitWhile` looks, in milliseconds. */
const lookInterval = 100;

/** Resolves when it does not hold any more, or after `delay` milliseconds. */
export async function waitWhile(delay: number, holds: () => boolean): Promise<void> {
  const end = performance.now() + delay;
  for (let left = delay; left > 0 && holds(); left = end - performance.now()) {
    const step = Math.min(left, lookInterval);
    await new Promise<void>((resolve) => new Timer(step, resolve));
  }
}
