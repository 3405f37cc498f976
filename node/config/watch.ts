// File watcher: detects new content, also if the symlink of a folder is replaced, as Kubernetes does for ConfigMaps.
import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';

export type WatchIntervals = {
  /** Milliseconds without events in a folder before its files are read. */
  settle: number;
  /** Interval in milliseconds of additional reads, because some file systems report no events. */
  poll: number;
};
const watchIntervals: WatchIntervals = { settle: 100, poll: 10_000 };

/** Calls `changed` after events in the folders of the files, and regularly without events; never concurrently. */
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

  /** Calls `changed` now, or after the call in progress. */
  check(): void {
    this.#run();
  }

  /** Stops watchers and timers; resolves after the call in progress returned. */
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
      // A folder that cannot be watched (deleted, no inotify left) is still polled.
      watcher.on('error', () => watcher.close());
      this.#watchers.push(watcher);
    } catch {
      // See above.
    }
  }

  #touched(): void {
    // Counted from the first event, not from the last: a folder with continuous events must not delay it forever.
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
