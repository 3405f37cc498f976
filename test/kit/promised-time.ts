// Time where it is the feature: how long something took, against a bound that a busy machine does not reach.
import assert from 'node:assert/strict';

/** How many times what is promised a machine may take that has other work, at least. */
const slack = 5;

/** @returns what tells the milliseconds since now */
export function stopwatch(): () => number {
  const start = performance.now();
  return () => performance.now() - start;
}

/**
 * @param promised milliseconds on a machine that has time
 * @param bound if not five times that: more, e.g. what it would take if the promise was not kept at all
 */
export function assertPrompt(
  what: string,
  took: number,
  { promised, bound = slack * promised }: { promised: number; bound?: number },
): void {
  assert.ok(bound >= slack * promised, `a bound of ${bound} ms is too tight for a promise of ${promised} ms`);
  assert.ok(took <= bound, `${what} took ${Math.round(took)} ms, promised are ${promised} ms`);
}
