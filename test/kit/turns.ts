// The event loop goes round: for what answers at once, in promises and immediates, and tells nobody.
// Not the global one: a test that mocks timers lets the loop go round too.
import { setImmediate } from 'node:timers';

/** Everything that was ready to run has run, and what that made ready, so many times. */
export async function turns(count = 1): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}
