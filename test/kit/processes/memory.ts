// Memory of processes.
import assert from 'node:assert/strict';
import { residentBytes } from '../../../node/common/resident-memory.ts';

/** The most resident memory of a process, read ten times a second. */
export class PeakMemory {
  readonly #timer: NodeJS.Timeout;
  #most = 0;

  constructor(pid: number) {
    this.#timer = setInterval(() => {
      this.#most = Math.max(this.#most, residentBytes(pid) ?? 0);
    }, 100);
  }

  /** In bytes. */
  end(): number {
    clearInterval(this.#timer);
    return this.#most;
  }
}

/** Resident bytes of a process. It must be running. */
export function memoryOf(pid: number): number {
  return residentBytes(pid) ?? assert.fail(`process ${pid} does not exist`);
}
