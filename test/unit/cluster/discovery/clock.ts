// Mocked clock for discovery tests: timers advance under control of the test.
import type { TestContext } from 'node:test';
import { turns } from '../../../kit/turns.ts';

/** Lets resolved promises take effect. */
export async function settle(): Promise<void> {
  await turns(5);
}

export type Clock = { now: () => number; pass: (milliseconds: number) => Promise<void> };

export function mockClock(t: TestContext): Clock {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let time = 0;
  return {
    now: () => time,
    async pass(milliseconds) {
      await settle();
      time += milliseconds;
      t.mock.timers.tick(milliseconds);
      await settle();
    },
  };
}
