// Whether a process that a test looks at is still there.
import { readFileSync } from 'node:fs';

/** Whether a process runs (not even as a zombie). One that goes while it is looked at does not. */
export function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
