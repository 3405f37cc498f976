// CPU meter: measures CPU usage of the host, the tie-breaker in placement.
import { cpus } from 'node:os';

/** Minimum interval of a measurement in milliseconds. Shorter ones are too noisy. */
const span = 500;

export class CpuMeter {
  #before = readTimes();
  #readAt = performance.now();
  #load = 0;

  /** Recent usage of all cores, 0 to 1. Low-priority work (nice) does not count. */
  read(): number {
    const now = performance.now();
    if (now - this.#readAt < span) return this.#load;
    const times = readTimes();
    const total = times.total - this.#before.total;
    if (total > 0) this.#load = 1 - (times.idle - this.#before.idle) / total;
    this.#before = times;
    this.#readAt = now;
    return this.#load;
  }
}

function readTimes(): { idle: number; total: number } {
  let idle = 0;
  let total = 0;
  for (const { times } of cpus()) {
    idle += times.idle + times.nice;
    total += times.user + times.nice + times.sys + times.idle + times.irq;
  }
  return { idle, total };
}
