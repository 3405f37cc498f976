// Timers of any duration: setTimeout alone fires at once beyond 2^31-1 ms (24.8 days).
import { withoutRequestContext } from './request-context.ts';

const maxTimerMs = 2 ** 31 - 1;

/** Calls back once after a delay; stop() is idempotent. Does not keep the process alive. */
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
    // The callback does not belong to the request that started the timer.
    this.#timeout = withoutRequestContext(() => setTimeout(() => (delay > step ? this.#arm(delay - step, fire) : fire()), step).unref());
  }
}

/** Resolves when all promises resolved, or after `delay` milliseconds. @throws the first error until then */
export async function settleWithin(delay: number, promises: Iterable<Promise<unknown>>): Promise<void> {
  const deadline = Promise.withResolvers<void>();
  const timer = new Timer(delay, () => deadline.resolve());
  try {
    await Promise.race([Promise.all(promises), deadline.promise]);
  } finally {
    timer.stop();
  }
}

/** Polling interval of `waitWhile`, in milliseconds. */
const pollInterval = 100;

/** Resolves when `holds` returns false, or after `delay` milliseconds. */
export async function waitWhile(delay: number, holds: () => boolean): Promise<void> {
  const end = performance.now() + delay;
  for (let left = delay; left > 0 && holds(); left = end - performance.now()) {
    const step = Math.min(left, pollInterval);
    await new Promise<void>((resolve) => new Timer(step, resolve));
  }
}
