// Mocked time for discovery: timers that a test lets run out, and a clock that goes with them.
import type { TestContext } from 'node:test';
import { turns } from '../../../kit/turns.ts';

/** Lets what was resolved take its effects. */
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
