// Memory of processes.
import assert from 'node:assert/strict';
import { residentBytes } from '../../../node/common/resident-memory.ts';

/** Resident bytes of a process. It must be running. */
export function memoryOf(pid: number): number {
  return residentBytes(pid) ?? assert.fail(`process ${pid} does not exist`);
}
