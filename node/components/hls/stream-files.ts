// Files of a stream: reads parts from segments, and keeps segments for a while after they leave the playlist.
import { constants } from 'node:fs';
import { open, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../common/log.ts';
import { segmentName } from './composer/composer-messages.ts';
import type { Part, Segment } from './playlist/playlist.ts';

type Leaving = { segment: Segment; until: number };

/** Bytes of cached parts: many viewers load the same part at the same moment. */
const maxHeld = 16 * 1024 * 1024;

export class StreamFiles {
  readonly #log: Log;
  readonly #keep: boolean;
  #folder: string;
  readonly #held = new Map<string, { bytes: Promise<Buffer>; length: number }>();
  #heldBytes = 0;
  readonly #leaving: Leaving[] = [];

  /** `folder`: absolute path. `keep`: true if segments are stored permanently. */
  constructor(folder: string, { log, keep }: { log: Log; keep: boolean }) {
    this.#folder = folder;
    this.#log = log;
    this.#keep = keep;
  }

  get folder(): string {
    return this.#folder;
  }

  /** The files were moved to this folder. */
  moved(folder: string): void {
    this.#folder = folder;
  }

  /** Bytes of a part. @throws Error if the disk read fails */
  async part(segment: number, { offset, length }: Part): Promise<Buffer> {
    const key = `${segment}.${offset}`;
    const held = this.#held.get(key);
    if (held) return held.bytes;
    const bytes = readBytes(join(this.#folder, segmentName(segment)), offset, length);
    this.#held.set(key, { bytes, length });
    this.#heldBytes += length;
    bytes.catch(() => this.#drop(key));
    for (const oldest of this.#held.keys()) {
      if (this.#heldBytes <= maxHeld) break;
      this.#drop(oldest);
    }
    return bytes;
  }

  /** Truncates a segment to the bytes that were announced. Never rejects. */
  async cut({ number, bytes }: Segment): Promise<void> {
    await truncate(join(this.#folder, segmentName(number)), bytes).catch((error: unknown) => this.#tell(error));
  }

  /** These segments left the playlist: viewers may load them until then (milliseconds of any monotonic clock). */
  leave(segments: readonly Segment[], until: number): void {
    for (const segment of segments) this.#leaving.push({ segment, until });
  }

  /** A segment that left the playlist, while viewers may load it. */
  leaving(number: number): Segment | undefined {
    return this.#leaving.find(({ segment }) => segment.number === number)?.segment;
  }

  /** Deletes expired files. Never rejects. */
  async sweep(now: number): Promise<void> {
    while ((this.#leaving[0]?.until ?? Number.POSITIVE_INFINITY) <= now) {
      const { segment } = this.#leaving.shift() as Leaving;
      if (this.#keep) continue;
      await rm(join(this.#folder, segmentName(segment.number)), { force: true }).catch((error: unknown) => this.#tell(error));
    }
  }

  async removeAll(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true }).catch((error: unknown) => this.#tell(error));
  }

  #drop(key: string): void {
    this.#heldBytes -= this.#held.get(key)?.length ?? 0;
    this.#held.delete(key);
  }

  #tell(error: unknown): void {
    this.#log.warn({ err: error }, 'could not change file of stream');
  }
}

async function readBytes(path: string, offset: number, length: number): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, offset);
    if (bytesRead < length) throw new Error('A part is incomplete');
    return buffer;
  } finally {
    await file.close();
  }
}
