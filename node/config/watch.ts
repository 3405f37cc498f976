// Watches files for new content, also where a symlink of a folder is swapped as Kubernetes does with ConfigMaps.
import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';

export type WatchIntervals = {
  /** How long a folder must be quiet before its files are read, in milliseconds. */
  settle: number;
  /** How often files are read anyway, since some file systems tell nothing. */
  poll: number;
};
export const watchIntervals: WatchIntervals = { settle: 100, poll: 10_000 };

/** Calls `changed` after something happened in the folders of the files, and now and then anyway; never two calls at once. */
export class FileWatcher {
  readonly #changed: () => Promise<void>;
  readonly #times: WatchIntervals;
  readonly #watchers: FSWatcher[] = [];
  readonly #poll: NodeJS.Timeout;
  #settle: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #closed = false;

  constructor(files: readonly string[], changed: () => Promise<void>, times: WatchIntervals = watchIntervals) {
    this.#changed = changed;
    this.#times = times;
    for (const folder of new Set(files.map((file) => dirname(file)))) this.#watch(folder);
    this.#poll = setInterval(() => this.#run(), times.poll);
    this.#poll.unref();
  }

  /** Calls `changed` now, or again right after the call that is under way. */
  check(): void {
    this.#run();
  }

  /** Ends watchers and timers; done when a call that is under way has returned. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#poll);
    clearTimeout(this.#settle);
    for (const watcher of this.#watchers) watcher.close();
    await this.#running;
  }

  #watch(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#touched());
      // A folder that cannot be watched (gone, no inotify left) still has the poll.
      watcher.on('error', () => watcher.close());
      this.#watchers.push(watcher);
    } catch {
      // As above.
    }
  }

  #touched(): void {
    // From the first event on, not from the last: a folder that never rests must not put it off for ever.
    if (this.#closed || this.#settle) return;
    this.#settle = setTimeout(() => {
      this.#settle = undefined;
      this.#run();
    }, this.#times.settle);
  }

  #run(): void {
    if (this.#closed) return;
    if (this.#running) {
      this.#again = true;
      return;
    }
    this.#running = this.#changed().finally(() => {
      this.#running = undefined;
      if (!this.#again) return;
      this.#again = false;
      this.#run();
    });
  }
}
