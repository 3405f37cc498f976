// Orphaned spools: finds spools of nodes that do not return under their name, and takes them over once they are unused.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../../common/log.ts';
import { Timer } from '../../common/timer.ts';
import { type DeadLetter, DeadLetters } from './dead-letters.ts';
import type { Delivery } from './delivery.ts';
import { Spool } from './spool.ts';
import { SpoolFolder, spoolOwner } from './spool-folder.ts';

const scanIntervalMs = 30_000;
/** Minimum silence of an owner on another host. Longer than the attribute cache of network file systems. */
const orphanedSpoolTimeoutMs = 180_000;
const maxFolders = 1_000;

/** Both oldest first. */
export type OrphanedDeliveries = { pending: readonly Delivery[]; dead: readonly DeadLetter[] };

export type OrphanedSpoolsOptions = {
  log: Log;
  /** Folder of all spools. */
  base: string;
  /** Spool folder of this node. */
  own: string;
  /** @returns `spooled`: the folder is deleted; `memory`: it is kept for the next start; `refused`: this node is shutting down. */
  take: (left: OrphanedDeliveries) => Promise<'spooled' | 'memory' | 'refused'>;
  now?: () => number;
};

export class OrphanedSpools {
  readonly #options: OrphanedSpoolsOptions;
  readonly #now: () => number;
  /** Owners on other hosts: last observed state, and since when. */
  readonly #silent = new Map<string, { seen: string; since: number }>();
  /** Taken over but not deleted: locked until this process ends. */
  readonly #kept: SpoolFolder[] = [];
  #timer: Timer | undefined;
  #scanning: Promise<void> | undefined;
  #closed = false;

  constructor(options: OrphanedSpoolsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Scans now and at intervals until close(). */
  start(): void {
    void this.scan().finally(() => {
      if (!this.#closed) this.#timer = new Timer(scanIntervalMs, () => this.start());
    });
  }

  /** Resolves when all free spools were taken over. Never rejects. */
  scan(): Promise<void> {
    this.#scanning ??= this.#scan().finally(() => {
      this.#scanning = undefined;
    });
    return this.#scanning;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.stop();
    await this.#scanning;
    for (const folder of this.#kept.splice(0)) await folder.close();
  }

  async #scan(): Promise<void> {
    const { log, base } = this.#options;
    try {
      for (const name of readdirSync(base).slice(0, maxFolders)) {
        if (this.#closed) return;
        await this.#tryOne(join(base, name));
      }
    } catch (error) {
      log.warn({ err: error, folder: base }, 'could not scan for orphaned webhook spools');
    }
  }

  async #tryOne(path: string): Promise<void> {
    const { log, own } = this.#options;
    if (path === own || this.#kept.some((folder) => folder.path === path)) return;
    let folder: SpoolFolder | undefined;
    try {
      if (!holdsSomething(path) || !this.#isFree(path)) return;
      folder = await SpoolFolder.tryTake(path);
      const taken = folder && (await this.#takeOver(path));
      if (!folder || !taken || taken === 'refused') return;
      if (taken === 'memory') this.#kept.push(folder);
      // The node may have restarted on another host meanwhile.
      else if (folder.isOwn) rmSync(path, { recursive: true, force: true });
    } catch (error) {
      log.warn({ err: error, folder: path }, 'could not take over orphaned webhook spool');
    } finally {
      if (folder && !this.#kept.includes(folder)) await folder.close();
    }
  }

  async #takeOver(path: string): ReturnType<OrphanedSpoolsOptions['take']> {
    const { log, take } = this.#options;
    const { pending } = Spool.open(path, { log });
    const dead = new DeadLetters(path, { log }).list({}, Number.POSITIVE_INFINITY).reverse();
    const taken = await take({ pending, dead });
    const counts = { pending: pending.length, dead: dead.length };
    if (taken !== 'refused') log.info({ folder: path, ...counts }, 'took over webhook spool of lost node');
    return taken;
  }

  #isFree(path: string): boolean {
    const owner = spoolOwner(path);
    if (owner.where !== 'other') return true;
    const known = this.#silent.get(path);
    if (known?.seen === owner.seen) return this.#now() - known.since >= orphanedSpoolTimeoutMs;
    this.#silent.set(path, { seen: owner.seen, since: this.#now() });
    return false;
  }
}

/** @returns false also if it is not a folder. */
function holdsSomething(path: string): boolean {
  try {
    return readdirSync(path).some((name) => /\.(seg|jsonl)$/.test(name));
  } catch {
    return false;
  }
}
