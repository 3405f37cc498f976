// Webhook spool: pending deliveries on disk in append-only segment files, so that a killed process loses none of them.
// Durability: add() writes before it returns, so an added delivery survives the end of the process at any time. Against power loss the file
// is synced (fdatasync) at most 50 ms or 64 records later. Completion is written with a delay of up to 50 ms: after a kill a delivery may
// be repeated with the same webhook-id. Space: the oldest segment is deleted when none of its deliveries is pending; if more than half of
// all bytes are obsolete, its pending deliveries are first copied to the end.
import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../../common/log.ts';
import { Timer } from '../../common/timer.ts';
import type { Delivery } from './delivery.ts';
import { doneRecord, pendingRecord, readRecords } from './spool-records.ts';

const syncDelay = 50;
const syncRecords = 64;
/** Delay before failed writes are retried, in milliseconds. */
const retryDelay = 5_000;
const segmentName = /^(\d{10})\.seg$/;

type Segment = { path: string; bytes: number; live: Map<number, { delivery: Delivery; bytes: number }> };

export type SpoolOptions = {
  log: Log;
  /** Bytes after which a new segment starts. */
  segmentBytes?: number;
  retryDelay?: number;
};

export class Spool {
  readonly #folder: string;
  readonly #log: Log;
  readonly #segmentBytes: number;
  readonly #retryDelay: number;
  /** Oldest first; the last one is open for writing. */
  readonly #segments: Segment[] = [];
  readonly #where = new Map<number, Segment>();
  /** Deliveries that could not be written. */
  readonly #missed = new Map<number, Delivery>();
  #done: number[] = [];
  #liveBytes = 0;
  #totalBytes = 0;
  #fd: number | undefined;
  #nextSegment = 1;
  #unsynced = 0;
  #syncTimer: Timer | undefined;
  #retryTimer: Timer | undefined;
  #syncing: Promise<void> = Promise.resolve();
  #failing = false;
  #closed = false;
  /** Number of failed writes since the start. */
  errors = 0;

  private constructor(folder: string, options: SpoolOptions) {
    this.#folder = folder;
    this.#log = options.log;
    this.#segmentBytes = options.segmentBytes ?? 4 * 1024 * 1024;
    this.#retryDelay = options.retryDelay ?? retryDelay;
  }

  /** Reads pending deliveries in order. A damaged end of a segment is skipped and logged. `last`: the highest number used. */
  static open(folder: string, options: SpoolOptions): { spool: Spool; pending: Delivery[]; last: number } {
    const spool = new Spool(folder, options);
    return { spool, ...spool.#recover() };
  }

  /** Bytes on disk. */
  get bytes(): number {
    return this.#totalBytes;
  }

  /** Written when this returns. If that fails, it is kept in memory and retried later. */
  add(delivery: Delivery): void {
    // Order on disk does not matter, but if older deliveries could not be written, this one would fail too.
    if (this.#missed.size > 0 || !this.#append(delivery)) {
      this.#missed.set(delivery.n, delivery);
      this.#retryLater();
    }
  }

  /** A delivery was delivered or failed permanently. */
  done(n: number): void {
    if (this.#missed.delete(n)) return;
    const segment = this.#where.get(n);
    if (!segment) return;
    this.#where.delete(n);
    this.#liveBytes -= segment.live.get(n)?.bytes ?? 0;
    segment.live.delete(n);
    this.#done.push(n);
    if (this.#done.length >= syncRecords) this.#writeDone();
    this.#syncLater();
    this.#dropOldest();
  }

  /** Resolves when all added deliveries are on disk; false if some could not be written. */
  async synced(): Promise<boolean> {
    await this.#sync();
    return this.#missed.size === 0 && !this.#failing;
  }

  /** Writes and syncs remaining records. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#syncTimer?.stop();
    this.#retryTimer?.stop();
    while (this.#missed.size > 0 && this.#appendMissed());
    this.#writeDone();
    await this.#sync();
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #recover(): { pending: Delivery[]; last: number } {
    mkdirSync(this.#folder, { recursive: true });
    const names = readdirSync(this.#folder).filter((name) => segmentName.test(name));
    const found = new Map<number, { delivery: Delivery; segment: Segment; bytes: number }>();
    const done = new Set<number>();
    for (const name of names.sort()) {
      this.#nextSegment = Number(segmentName.exec(name)?.[1]) + 1;
      const segment: Segment = { path: join(this.#folder, name), bytes: 0, live: new Map() };
      const bytes = readFileSync(segment.path);
      const records = readRecords(bytes);
      segment.bytes = bytes.length;
      this.#totalBytes += bytes.length;
      this.#segments.push(segment);
      if (records.bad !== undefined)
        this.#log.warn({ file: segment.path, offset: records.bad, bytes: bytes.length }, 'skipped damaged end of webhook spool segment');
      for (const delivery of records.pending) found.set(delivery.n, { delivery, segment, bytes: delivery.body.length });
      for (const n of records.done) done.add(n);
    }
    const last = Math.max(0, ...[found.keys(), done].map((numbers) => [...numbers].reduce((high, n) => Math.max(high, n), 0)));
    const pending = [...found.values()]
      .filter(({ delivery }) => !done.has(delivery.n))
      .sort((one, other) => one.delivery.n - other.delivery.n);
    for (const { delivery, segment, bytes } of pending) this.#keep(segment, delivery, bytes);
    this.#dropOldest();
    return { pending: pending.map(({ delivery }) => delivery), last };
  }

  #keep(segment: Segment, delivery: Delivery, bytes: number): void {
    segment.live.set(delivery.n, { delivery, bytes });
    this.#where.set(delivery.n, segment);
    this.#liveBytes += bytes;
  }

  #append(delivery: Delivery): boolean {
    const record = pendingRecord(delivery);
    const segment = this.#write(record);
    if (!segment) return false;
    this.#keep(segment, delivery, record.length);
    this.#clean();
    return true;
  }

  /** @returns its segment; undefined if the write failed, in which case the file is truncated to its previous size. */
  #write(record: Buffer): Segment | undefined {
    let segment: Segment | undefined;
    try {
      segment = this.#current();
      const fd = this.#fd ?? 0;
      for (let written = 0; written < record.length; )
        written += writeSync(fd, record, written, record.length - written, segment.bytes + written);
    } catch (error) {
      this.#failed(error);
      this.#truncate(segment);
      return undefined;
    }
    segment.bytes += record.length;
    this.#totalBytes += record.length;
    this.#unsynced += 1;
    this.#syncLater();
    if (this.#failing) this.#log.info('webhook spool is writable again');
    this.#failing = false;
    return segment;
  }

  #truncate(segment: Segment | undefined): void {
    try {
      if (segment && this.#fd !== undefined) ftruncateSync(this.#fd, segment.bytes);
    } catch (error) {
      this.#failed(error);
    }
  }

  #current(): Segment {
    const newest = this.#segments.at(-1);
    if (this.#fd !== undefined && newest && newest.bytes < this.#segmentBytes) return newest;
    const path = join(this.#folder, `${String(this.#nextSegment).padStart(10, '0')}.seg`);
    const fd = openSync(path, 'wx', 0o600);
    this.#nextSegment += 1;
    if (this.#fd !== undefined) {
      fdatasyncSync(this.#fd);
      closeSync(this.#fd);
    }
    this.#fd = fd;
    const segment: Segment = { path, bytes: 0, live: new Map() };
    this.#segments.push(segment);
    syncFolder(this.#folder);
    return segment;
  }

  /** One compaction step, bounded by the size of a segment. */
  #clean(): void {
    if (this.#totalBytes <= 2 * this.#liveBytes + 2 * this.#segmentBytes) return;
    const [oldest] = this.#segments;
    if (!oldest || oldest === this.#segments.at(-1)) return;
    for (const [n, { delivery, bytes }] of [...oldest.live]) {
      const record = pendingRecord(delivery);
      const segment = this.#write(record);
      if (!segment) return;
      oldest.live.delete(n);
      this.#liveBytes -= bytes;
      this.#keep(segment, delivery, record.length);
    }
    this.#dropOldest();
  }

  #dropOldest(): void {
    for (let oldest = this.#segments[0]; oldest && oldest.live.size === 0; oldest = this.#segments[0]) {
      if (oldest === this.#segments.at(-1) && this.#fd !== undefined) return;
      try {
        // Copies of its pending deliveries must be on disk before it is deleted.
        if (this.#fd !== undefined && this.#unsynced > 0) fdatasyncSync(this.#fd);
        unlinkSync(oldest.path);
      } catch (error) {
        this.#failed(error);
        return;
      }
      this.#segments.shift();
      this.#totalBytes -= oldest.bytes;
    }
  }

  #writeDone(): void {
    if (this.#done.length > 0 && this.#write(doneRecord(this.#done))) this.#done = [];
  }

  #syncLater(): void {
    if (this.#unsynced >= syncRecords) void this.#sync();
    else
      this.#syncTimer ??= new Timer(syncDelay, () => {
        this.#writeDone();
        void this.#sync();
      });
  }

  /** One sync at a time: records written during a sync are covered by the next one. */
  #sync(): Promise<void> {
    this.#syncTimer?.stop();
    this.#syncTimer = undefined;
    if (this.#fd === undefined || this.#unsynced === 0) return this.#syncing;
    this.#unsynced = 0;
    this.#syncing = this.#syncing.then(
      () =>
        new Promise((resolve) => {
          const fd = this.#fd;
          if (fd === undefined) return resolve();
          fdatasync(fd, (error) => {
            // EBADF: the segment was full meanwhile, and was synced when it was closed.
            if (error && error.code !== 'EBADF') this.#failed(error);
            resolve();
          });
        }),
    );
    return this.#syncing;
  }

  #retryLater(): void {
    if (this.#closed) return;
    this.#retryTimer ??= new Timer(this.#retryDelay, () => {
      this.#retryTimer = undefined;
      this.#writeDone();
      while (this.#missed.size > 0) if (!this.#appendMissed()) return this.#retryLater();
    });
  }

  /** Retries a delivery that could not be written before. */
  #appendMissed(): boolean {
    const next = this.#missed.values().next().value;
    if (!next || !this.#append(next)) return false;
    return this.#missed.delete(next.n);
  }

  #failed(error: unknown): void {
    this.errors += 1;
    if (!this.#failing) this.#log.error({ err: error, folder: this.#folder }, 'could not write webhook spool, delivering from memory');
    this.#failing = true;
    this.#retryLater();
  }
}

function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
