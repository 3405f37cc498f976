// Turns of the event loop: waits for code that completes in promises and immediates without an event.
// Not the global setImmediate, so that a test can mock timers.
import { setImmediate } from 'node:timers';

/** Runs everything that is ready to run, and what becomes ready by that, for this number of turns. */
export async function turns(count = 1): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}
