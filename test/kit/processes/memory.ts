// Memory of processes that tests look at.
import assert from 'node:assert/strict';
import { residentBytes } from '../../../node/common/resident-memory.ts';

/** Bytes that a process holds. It must live. */
export function memoryOf(pid: number): number {
  return residentBytes(pid) ?? assert.fail(`there is no process ${pid}`);
}
