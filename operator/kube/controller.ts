// Workers that reconcile the keys of a queue, each with a deadline.
import type { Log } from '../log.ts';
import type { ControllerObserver } from './observer.ts';
import type { Priority, WorkQueue } from './work-queue.ts';

/** A failure that another try does not mend: the key waits for a change. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError';
}

export type Reconciled = { requeueAfterMs?: number } | undefined;

export type ControllerOptions = {
  name: string;
  workers: number;
  /** Deadline of one reconcile. */
  timeoutMs: number;
  queue: WorkQueue;
  reconcile: (key: string, signal: AbortSignal) => Promise<Reconciled> | Promise<void>;
  log: Log;
  metrics?: ControllerObserver;
};

export class Controller {
  readonly #options: ControllerOptions;

  constructor(options: ControllerOptions) {
    this.#options = options;
  }

  enqueue(key: string, priority: Priority = 'normal'): void {
    this.#options.queue.add(key, priority);
  }

  /** Until the signal aborts or the queue is closed, and every worker has ended. */
  run(_signal: AbortSignal): Promise<void> {
    return Promise.reject(new Error('not built yet'));
  }
}
