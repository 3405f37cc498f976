// Process liveness: checks if a process still runs.
import { readFileSync } from 'node:fs';

/** True if a process runs; zombies do not count. A process that exits during the check does not run. */
export function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
