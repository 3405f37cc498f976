// Mocked time for discovery: timers that a test lets run out, and a clock that goes with them.
import type { TestContext } from 'node:test';

/** Lets what was resolved take its effects. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
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
