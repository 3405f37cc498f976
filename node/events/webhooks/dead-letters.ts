// Dead letters: deliveries that failed permanently, as JSON lines in a file that operators can read, search and replay.
import { appendFileSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Log } from '../../common/log.ts';
import type { Delivery } from './delivery.ts';

const letterSchema = z.object({
  givenUpAt: z.string(),
  reason: z.string(),
  url: z.string(),
  roomId: z.string(),
  incarnation: z.string(),
  eventId: z.string(),
  attempts: z.number(),
  body: z.string(),
});
export type DeadLetter = z.infer<typeof letterSchema>;
/** Letters that match all given fields. */
export type DeadLetterFilter = { roomId?: string | undefined; eventIds?: readonly string[] | undefined };

export type DeadLettersOptions = { log: Log; maxBytes?: number };

/** At most two files of `maxBytes`. If the newer one is full, the older one is filled from both, with a fair share for every room. */
export class DeadLetters {
  readonly #log: Log;
  readonly #maxBytes: number;
  readonly #path: string;
  readonly #older: string;
  #bytes: number;
  /** Letters that arrive during a replay, while the files are rewritten. */
  #late: DeadLetter[] | undefined;
  /** Number of letters that could not be written since the start. */
  lost = 0;

  constructor(folder: string, options: DeadLettersOptions) {
    mkdirSync(folder, { recursive: true });
    this.#log = options.log;
    this.#maxBytes = options.maxBytes ?? 16 * 1024 * 1024;
    this.#path = join(folder, 'dead-letters.jsonl');
    this.#older = join(folder, 'dead-letters.1.jsonl');
    this.#bytes = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
  }

  add({ url, roomId, incarnation, eventId, attempts, body }: Delivery, reason: string): void {
    this.append({ givenUpAt: new Date().toISOString(), reason, url, roomId, incarnation, eventId, attempts, body });
  }

  /** Appends a letter unchanged, for example one of another node. */
  append(letter: DeadLetter): void {
    if (this.#late) this.#late.push(letter);
    else this.#write(letter);
  }

  #write(letter: DeadLetter): void {
    const line = `${JSON.stringify(letter)}\n`;
    try {
      if (this.#bytes > 0 && this.#bytes + line.length > this.#maxBytes) {
        this.#settle();
        this.#bytes = 0;
      }
      appendFileSync(this.#path, line, { mode: 0o600 });
      this.#bytes += Buffer.byteLength(line);
    } catch (error) {
      this.lost += 1;
      this.#log.error({ err: error, event: letter.eventId }, 'could not write dead letter');
    }
  }

  /** The newest `limit` letters, newest first. */
  list(filter: DeadLetterFilter, limit: number): DeadLetter[] {
    const found: DeadLetter[] = [];
    const room = filter.roomId === undefined ? '' : JSON.stringify(filter.roomId);
    // Lines are parsed lazily, because both files together are 32 MB.
    for (const line of this.#lines().reverse()) {
      if (found.length >= limit) break;
      const letter = line.includes(room) ? parse(line) : undefined;
      if (letter && matches(letter, filter)) found.push(letter);
    }
    return found;
  }

  /** Passes the letters to `send`, oldest first, and removes them from the files. @returns their number. */
  replay(filter: DeadLetterFilter, send: (letter: DeadLetter) => void): number {
    const all = this.#read();
    const chosen = all.filter((letter) => matches(letter, filter));
    this.#late = [];
    try {
      for (const letter of chosen) send(letter);
      this.#replace(all.filter((letter) => !matches(letter, filter)));
    } finally {
      const late = this.#late;
      this.#late = undefined;
      for (const letter of late) this.#write(letter);
    }
    return chosen.length;
  }

  /** Merges the newer file into the older one, or keeps it separate if that fails, for example on a full disk. */
  #settle(): void {
    try {
      const fresh = `${this.#older}.new`;
      writeFileSync(fresh, fairly(this.#lines(), this.#maxBytes).join(''), { mode: 0o600 });
      renameSync(fresh, this.#older);
      writeFileSync(this.#path, '', { mode: 0o600 });
    } catch {
      renameSync(this.#path, this.#older);
    }
  }

  #replace(kept: readonly DeadLetter[]): void {
    const text = kept.map((letter) => `${JSON.stringify(letter)}\n`).join('');
    const fresh = `${this.#path}.new`;
    writeFileSync(fresh, text, { mode: 0o600 });
    renameSync(fresh, this.#path);
    writeFileSync(this.#older, '', { mode: 0o600 });
    this.#bytes = Buffer.byteLength(text);
  }

  #read(): DeadLetter[] {
    return this.#lines().flatMap((line) => parse(line) ?? []);
  }

  /** Oldest first. */
  #lines(): string[] {
    return [this.#older, this.#path].flatMap((path) => {
      if (!statSync(path, { throwIfNoEntry: false })) return [];
      return readFileSync(path, 'utf8').split('\n');
    });
  }
}

/** Lines that stay, from lines with the oldest first: the newest of each room. Rooms with many letters lose the most. */
function fairly(lines: readonly string[], maxBytes: number): string[] {
  const sized = lines
    .filter((line) => line !== '')
    .map((line) => ({ text: `${line}\n`, bytes: Buffer.byteLength(line) + 1, room: roomOf(line) }));
  const bytes = new Map<string, number>();
  for (const line of sized) bytes.set(line.room, (bytes.get(line.room) ?? 0) + line.bytes);
  let left = maxBytes;
  let share = 0;
  for (const [index, size] of [...bytes.values()].sort((a, b) => a - b).entries()) {
    share = left / (bytes.size - index);
    if (size > share) break;
    left -= size;
    share = size;
  }
  const kept = new Map<string, number>();
  const stays = ({ room, bytes: size }: { room: string; bytes: number }) => {
    const sum = (kept.get(room) ?? 0) + size;
    kept.set(room, sum);
    return sum <= share;
  };
  return sized
    .reverse()
    .filter(stays)
    .reverse()
    .map(({ text }) => text);
}

/** Without parsing megabytes of events: inside a string the quotes would be escaped. */
function roomOf(line: string): string {
  return /"roomId":"((?:[^"\\]|\\.)*)"/.exec(line)?.[1] ?? '';
}

/** Lines that are no letter are skipped, for example one truncated by a full disk. */
function parse(line: string): DeadLetter | undefined {
  try {
    return letterSchema.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}

function matches(letter: DeadLetter, { roomId, eventIds }: DeadLetterFilter): boolean {
  return (roomId === undefined || letter.roomId === roomId) && (eventIds === undefined || eventIds.includes(letter.eventId));
}
