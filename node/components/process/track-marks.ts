// Track marks: shared memory in which a process marks the tracks in progress, so that its parent can read them after a crash.

import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** File descriptor in the process. */
const marksFile = 4;
/** Maximum of simultaneous marks. A slot is a number with the track plus 1; negative when the work is done, 0 if unused. */
const slots = 256;
const slotBytes = 8;

/** Parent side; without a file, no tracks are known. */
export class MarksReader {
  readonly #file: number | undefined = openNameless();

  /** To be inherited by the process. */
  get file(): number | 'ignore' {
    return this.#file ?? 'ignore';
  }

  /** Tracks in progress, without duplicates; between two, the last one. Not after close(). */
  read(): number[] {
    const numbers = this.#numbers();
    const marked = tracksOf(numbers);
    // The first slot is used first.
    return marked.length > 0 ? marked : tracksOf(numbers.slice(0, 1).map((number) => -number));
  }

  /** Reads for the last time. @returns tracks in progress, without duplicates */
  close(): number[] {
    const numbers = this.#numbers();
    if (this.#file !== undefined) closeSync(this.#file);
    return tracksOf(numbers);
  }

  #numbers(): number[] {
    if (this.#file === undefined) return [];
    const bytes = Buffer.alloc(slots * slotBytes);
    readSync(this.#file, bytes, 0, bytes.length, 0);
    return Array.from({ length: slots }, (_, index) => bytes.readDoubleLE(index * slotBytes));
  }
}

function tracksOf(numbers: readonly number[]): number[] {
  return [...new Set(numbers.filter((number) => number >= 1).map((number) => number - 1))];
}

/** Unlinked file, in memory if the system has a memory file system. */
function openNameless(): number | undefined {
  for (const folder of ['/dev/shm', tmpdir()]) {
    const path = join(folder, `mediarooms-${randomUUID()}`);
    try {
      const file = openSync(path, 'wx+', 0o600);
      unlinkSync(path);
      return file;
    } catch {
      // Tries the next folder.
    }
  }
  return undefined;
}

const taken = new Set<number>();
const number = Buffer.alloc(slotBytes);

function write(slot: number, value: number): void {
  number.writeDoubleLE(value);
  writeSync(marksFile, number, 0, slotBytes, slot * slotBytes);
}

/** Process side. The returned function ends the mark; if the process ends before, the track counts as the cause. */
export function markTrack(track: number): () => void {
  let slot = 0;
  while (taken.has(slot)) slot += 1;
  // With that many marks, the cause cannot be identified anyway.
  if (slot >= slots) return () => {};
  taken.add(slot);
  write(slot, track + 1);
  return () => {
    taken.delete(slot);
    write(slot, -(track + 1));
  };
}
