// What a child process takes of the machine, as Linux tells it (proc(5)).
import { readFile } from 'node:fs/promises';

/** The unit of times in /proc/<pid>/stat: Linux tells programs 100 per second, whatever its own clock (USER_HZ). */
const ticksPerSecond = 100;

/** `cpu` in seconds since the process started, `memory` (resident) in bytes. */
export type ProcessUsage = { cpu: number; memory: number };

/** Undefined where the process is gone or the system has no /proc. */
export async function processUsage(pid: number): Promise<ProcessUsage | undefined> {
  try {
    const [stat, status] = await Promise.all([readFile(`/proc/${pid}/stat`, 'utf8'), readFile(`/proc/${pid}/status`, 'utf8')]);
    return parseUsage(stat, status);
  } catch {
    return undefined;
  }
}

/** Undefined where one of the two does not hold it, as for a process that has ended but was not waited for. */
export function parseUsage(stat: string, status: string): ProcessUsage | undefined {
  // The second field, the name in brackets, may hold anything: count behind its last bracket. utime and stime are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const cpu = (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  const memory = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  return Number.isFinite(cpu) && Number.isFinite(memory) ? { cpu, memory } : undefined;
}
