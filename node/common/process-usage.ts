// Process usage: CPU and memory of a child process from Linux (proc(5)).
import { readFile } from 'node:fs/promises';
import { residentBytes } from './resident-memory.ts';

/** Unit of times in /proc/<pid>/stat: always 100 per second (USER_HZ), independent of the kernel clock. */
const ticksPerSecond = 100;

/** `cpu` in seconds since the start of the process, `memory` (resident) in bytes. */
export type ProcessUsage = { cpu: number; memory: number };

/** Undefined if the process ended or the system has no /proc. */
export async function processUsage(pid: number): Promise<ProcessUsage | undefined> {
  try {
    const cpu = cpuSeconds(await readFile(`/proc/${pid}/stat`, 'utf8'));
    const memory = residentBytes(pid);
    return cpu === undefined || memory === undefined ? undefined : { cpu, memory };
  } catch {
    return undefined;
  }
}

/** Undefined if the text does not contain them. */
export function cpuSeconds(stat: string): number | undefined {
  // The second field, the name in brackets, may contain any character, so fields are counted after its last bracket. utime and stime are
  // fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const seconds = (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  return Number.isFinite(seconds) ? seconds : undefined;
}
