// Which tracks a process is at work on, written where its parent can read it when the process is gone: a crash says nothing any more.

import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Number of the open file in the process. */
export const marksFile = 4;
/** Works that can be marked at once, each with the number of its track plus 1 in as many bytes; negative when it is done, 0 where none was. */
const slots = 256;
const slotBytes = 8;

/** The parent's end; without a place for the file nothing is known. */
export class MarksReader {
  readonly #file: number | undefined = openNameless();

  /** For the process to inherit. */
  get file(): number | 'ignore' {
    return this.#file ?? 'ignore';
  }

  /** Tracks that are worked on, each once; between two works the one that was worked on last. Not after close(). */
  read(): number[] {
    const numbers = this.#numbers();
    const marked = tracksOf(numbers);
    // The first place is taken first.
    return marked.length > 0 ? marked : tracksOf(numbers.slice(0, 1).map((number) => -number));
  }

  /** Reads for the last time. @returns tracks that were worked on, each once */
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

/** In memory where the system has such a place. */
function openNameless(): number | undefined {
  for (const folder of ['/dev/shm', tmpdir()]) {
    const path = join(folder, `mediarooms-${randomUUID()}`);
    try {
      const file = openSync(path, 'wx+', 0o600);
      unlinkSync(path);
      return file;
    } catch {
      // The next one.
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

/** To be called in the process. What this returns ends the work; where it is not called, the track is what the process ended at. */
export function markTrack(track: number): () => void {
  let slot = 0;
  while (taken.has(slot)) slot += 1;
  // So many at once say nothing.
  if (slot >= slots) return () => {};
  taken.add(slot);
  write(slot, track + 1);
  return () => {
    taken.delete(slot);
    write(slot, -(track + 1));
  };
}
