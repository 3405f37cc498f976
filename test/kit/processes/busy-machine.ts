// What a machine that has other work adds to the time that a test measures: how long it held up this process, and how much it slows another one down.
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { TestContext } from 'node:test';

/** Milliseconds. */
const resolution = 5;

/** @returns what tells the longest turn of this process's event loop since now, in milliseconds */
export function watchOwnLoop(t: TestContext): () => number {
  const delays = monitorEventLoopDelay({ resolution });
  delays.enable();
  t.after(() => delays.disable());
  return () => Math.max(0, delays.max / 1e6 - resolution);
}

/** @returns what tells how many times longer than it computes the main thread of a process took since now, since others had its core; 1 where nobody counts that */
export function watchSlowdown(pid: number): () => number {
  const before = readTurns(pid);
  return () => {
    const now = readTurns(pid);
    const [ran, waited] = [now.ran - before.ran, now.waited - before.waited];
    return ran > 0 ? 1 + waited / ran : 1;
  };
}

/** Of the main thread, in nanoseconds: how long it ran, and was ready but waited for a core. */
function readTurns(pid: number): { ran: number; waited: number } {
  try {
    const [ran = 0, waited = 0] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ').map(Number);
    return { ran, waited };
  } catch {
    return { ran: 0, waited: 0 };
  }
}
