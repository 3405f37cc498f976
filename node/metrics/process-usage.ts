// What a child process takes of the machine, as Linux tells it (proc(5)).
import { readFile } from 'node:fs/promises';
import { residentBytes } from '../common/resident-memory.ts';

/** The unit of times in /proc/<pid>/stat: Linux tells programs 100 per second, whatever its own clock (USER_HZ). */
const ticksPerSecond = 100;

/** `cpu` in seconds since the process started, `memory` (resident) in bytes. */
export type ProcessUsage = { cpu: number; memory: number };

/** Undefined where the process is gone or the system has no /proc. */
export async function processUsage(pid: number): Promise<ProcessUsage | undefined> {
  try {
    const cpu = cpuSeconds(await readFile(`/proc/${pid}/stat`, 'utf8'));
    const memory = residentBytes(pid);
    return cpu === undefined || memory === undefined ? undefined : { cpu, memory };
  } catch {
    return undefined;
  }
}

/** Undefined where it does not hold them. */
export function cpuSeconds(stat: string): number | undefined {
  // The second field, the name in brackets, may hold anything: count behind its last bracket. utime and stime are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const seconds = (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  return Number.isFinite(seconds) ? seconds : undefined;
}
