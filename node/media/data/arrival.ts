// Arrival: waits for messages that are under way, while some arrive.
import { setTimeout as wait } from 'node:timers/promises';

/** Interval of the checks, time without an arrival after which the rest counts as lost, and the longest wait, in milliseconds. */
const intervalMs = 20;
const stalledMs = 2_000;
const timeoutMs = 5_000;

/** Resolves when none is left, or no more of them arrive, or their number cannot be determined. Never fails. */
export async function arrival(left: () => Promise<number>): Promise<void> {
  const end = performance.now() + timeoutMs;
  let least = Number.POSITIVE_INFINITY;
  let stalled = Number.POSITIVE_INFINITY;
  for (let now = performance.now(); now < Math.min(end, stalled); now = performance.now()) {
    const count = await left().catch(() => 0);
    if (count <= 0) return;
    if (count < least) {
      least = count;
      stalled = now + stalledMs;
    }
    await wait(intervalMs, undefined, { ref: false });
  }
}
