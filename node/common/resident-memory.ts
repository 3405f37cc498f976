// The memory that a process holds, as Linux tells it of any process (proc(5)).
import { readFileSync } from 'node:fs';

/** Bytes; undefined where the process has ended, or the system has no /proc. */
export function residentBytes(pid: number): number | undefined {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}
