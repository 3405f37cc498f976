// What a test does for a while or on a schedule, because time is what it is about. Nothing is waited for here, and nothing fails by the clock.
import { setTimeout as sleep } from 'node:timers/promises';

/** Acts again and again for that many milliseconds: once at least, and once more after each pause that ends in time. */
export async function keepDoing(milliseconds: number, act: () => unknown, pause = 0): Promise<void> {
  const end = performance.now() + milliseconds;
  do {
    await act();
    await sleep(pause);
  } while (performance.now() < end);
}

/** Resolves at that time of `performance.now()`, never before: a timer may be a moment early. */
export async function at(time: number): Promise<void> {
  while (performance.now() < time) await sleep(Math.max(1, time - performance.now()));
}

/** How many things are due by now of which the first is due at `start` and the next one each `interval` milliseconds. */
export function dueSince(start: number, interval: number): number {
  return Math.max(0, Math.floor((performance.now() - start) / interval) + 1);
}

/** Keeps this thread busy: nothing else of the process goes on meanwhile. */
export function holdUp(milliseconds: number): void {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
}
