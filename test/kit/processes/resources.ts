// What a process holds: open handles, timers, heap after collection; for tests that look for leaks.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { turns } from '../turns.ts';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

/** Handles and timers that keep this process busy, counted by kind. */
export function activeResources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** Bytes of this process's heap that are still reachable. */
export async function liveHeap(): Promise<number> {
  for (let round = 0; round < 3; round += 1) {
    gc();
    await turns();
  }
  return process.memoryUsage().heapUsed;
}
