// Resources of a process for leak tests: open handles, timers, heap after garbage collection.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { turns } from '../turns.ts';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

/** Handles and timers that keep this process alive, counted by type. */
export function activeResources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** Reachable bytes of this process's heap. */
export async function liveHeap(): Promise<number> {
  for (let round = 0; round < 3; round += 1) {
    gc();
    await turns();
  }
  return process.memoryUsage().heapUsed;
}
