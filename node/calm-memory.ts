// What a busy moment left in memory goes back to the system soon after.
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';

/** Milliseconds between two looks. */
const interval = 2_000;
/** Part of the time that the process is at work at most while it is calm. */
const maxUtilization = 0.25;

/**
 * For as long as the process lives: while it is calm V8 prefers little memory to few collections. Its memory reducer, which collects in
 * small steps and gives back pages, then begins within 8 s; else only 100 s after the last collection.
 */
export function giveBackMemoryWhenCalm(): void {
  let before = performance.eventLoopUtilization();
  let wasCalm = false;
  const look = () => {
    const now = performance.eventLoopUtilization();
    const isCalm = performance.eventLoopUtilization(now, before).utilization <= maxUtilization;
    before = now;
    if (isCalm !== wasCalm) setFlagsFromString(isCalm ? '--optimize-for-size' : '--no-optimize-for-size');
    wasCalm = isCalm;
  };
  setInterval(look, interval).unref();
}
