// Process liveness: checks if a process still runs, and which program it runs.
import { readFileSync } from 'node:fs';

/** True if a process runs; zombies do not count. A process that exits during the check does not run. */
export function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** Command line of a process; empty if it does not run. */
export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}
