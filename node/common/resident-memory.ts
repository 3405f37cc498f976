// Resident memory of a process, read from /proc (proc(5)).
import { readFileSync } from 'node:fs';

/** In bytes; undefined if the process has ended or the system has no /proc. */
export function residentBytes(pid: number): number | undefined {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}
