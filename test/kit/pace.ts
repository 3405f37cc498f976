// Pacing of actions in tests about time. Nothing here waits for a condition, and nothing fails because of time.
import { setTimeout as sleep } from 'node:timers/promises';

/** Repeats an action for that many milliseconds: at least once, and once more after each pause that ends in time. */
export async function keepDoing(milliseconds: number, act: () => unknown, pause = 0): Promise<void> {
  const end = performance.now() + milliseconds;
  do {
    await act();
    await sleep(pause);
  } while (performance.now() < end);
}

/** Resolves at that time of `performance.now()`, never earlier, although timers can be slightly early. */
export async function at(time: number): Promise<void> {
  while (performance.now() < time) await sleep(Math.max(1, time - performance.now()));
}

/** Number of actions due by now, if the first is due at `start` and the next ones follow every `interval` milliseconds. */
export function dueSince(start: number, interval: number): number {
  return Math.max(0, Math.floor((performance.now() - start) / interval) + 1);
}

/** Blocks this thread: nothing else of the process runs meanwhile. */
export function holdUp(milliseconds: number): void {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
}
