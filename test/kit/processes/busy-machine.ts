// Load measurement: how much other work on the machine delayed this process, and how much it slowed down another process.
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { TestContext } from 'node:test';

/** Milliseconds. */
const resolution = 5;

/** @returns a function that returns the longest delay of this process's event loop since now, in milliseconds */
export function watchOwnLoop(t: TestContext): () => number {
  const delays = monitorEventLoopDelay({ resolution });
  delays.enable();
  t.after(() => delays.disable());
  return () => Math.max(0, delays.max / 1e6 - resolution);
}

/** @returns a function for the slowdown of the main thread of a process since now, as a factor of its CPU time; 1 if not measurable */
export function watchSlowdown(pid: number): () => number {
  const before = readTurns(pid);
  return () => {
    const now = readTurns(pid);
    const [ran, waited] = [now.ran - before.ran, now.waited - before.waited];
    return ran > 0 ? 1 + waited / ran : 1;
  };
}

/** Times of the main thread in nanoseconds: running, and ready but waiting for a core. */
function readTurns(pid: number): { ran: number; waited: number } {
  try {
    const [ran = 0, waited = 0] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ').map(Number);
    return { ran, waited };
  } catch {
    return { ran: 0, waited: 0 };
  }
}
