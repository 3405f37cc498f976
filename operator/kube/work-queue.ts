// Keys that want work: each once, never two workers on one key, failures later and later.
import type { QueueObserver } from './observer.ts';

export type Priority = 'high' | 'normal';

export type WorkQueueOptions = {
  name: string;
  metrics?: QueueObserver;
  /** First wait of a key that failed; doubled each time. Default 5 ms. */
  baseMs?: number;
  /** Default 5 min. */
  capMs?: number;
  /** Most keys that may wait. Default 100,000. */
  limit?: number;
  /** A monotonic clock in milliseconds. */
  now?: () => number;
  random?: () => number;
};

export class WorkQueue {
  readonly name: string;

  constructor(options: WorkQueueOptions) {
    this.name = options.name;
  }

  /** Keys that could be taken now. */
  get depth(): number {
    return 0;
  }

  add(_key: string, _priority: Priority = 'normal'): void {}

  /** The earliest of several wins. */
  addAfter(_key: string, _ms: number, _priority: Priority = 'normal'): void {}

  /** After the key's own back-off, but not before `atLeastMs`; gives the wait. */
  addRateLimited(_key: string, _priority: Priority = 'normal', _atLeastMs = 0): number {
    return 0;
  }

  /** The key did well: its next failure waits shortly again. */
  forget(_key: string): void {}

  failures(_key: string): number {
    return 0;
  }

  /** The next key; `undefined` when the queue is closed or the signal aborts. The taker calls `done`. */
  take(_signal: AbortSignal): Promise<string | undefined> {
    return Promise.resolve(undefined);
  }

  done(_key: string): void {}

  /** Nothing is given out any more; workers end when what they do is done. */
  close(): void {}
}
