// Timing assertions for features that promise a time, with bounds that a busy machine does not exceed.
import assert from 'node:assert/strict';

/** Minimum factor between the promised time and the bound, for a busy machine. */
const slack = 5;

/** @returns a function that returns the milliseconds since now */
export function stopwatch(): () => number {
  const start = performance.now();
  return () => performance.now() - start;
}

/**
 * @param promised milliseconds on an idle machine
 * @param bound five times that by default; a larger bound is, for example, the time without the tested feature
 */
export function assertPrompt(
  what: string,
  took: number,
  { promised, bound = slack * promised }: { promised: number; bound?: number },
): void {
  assert.ok(bound >= slack * promised, `a bound of ${bound} ms is too tight for a promise of ${promised} ms`);
  assert.ok(took <= bound, `${what} took ${Math.round(took)} ms, promised are ${promised} ms`);
}
