// Controller: workers that reconcile the keys of a queue, each with a timeout.
import type { Log } from '../log.ts';
import type { KubeClient } from './client.ts';
import { Deadline, sleep } from './http/deadline.ts';
import { isConflict, isUnreachable, KubeError } from './http/kube-error.ts';
import type { ControllerObserver, ReconcileResult } from './observer.ts';
import type { Priority, WorkQueue } from './work-queue.ts';

/** A failure that a retry cannot fix: the key waits for a change. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError';
}

/** Abort reason of the signal of a reconcile at its deadline. */
export class ReconcileTimeout extends Error {
  override readonly name = 'ReconcileTimeout';
}

/** `requeueAfterMs`: reconcile again after that time even without a change. */
export type Reconciled = { requeueAfterMs?: number } | undefined;

export type ControllerOptions = {
  name: string;
  workers: number;
  /** Timeout of one reconcile, after which its signal aborts. */
  timeoutMs: number;
  queue: WorkQueue;
  reconcile: (key: string, signal: AbortSignal) => Promise<Reconciled> | Promise<void>;
  log: Log;
  /** A request of any user of the client that reaches the API server ends the pause of an outage. */
  client?: Pick<KubeClient, 'onReachable'>;
  metrics?: ControllerObserver;
};

/** Pause of all workers during an outage of the API server; then one worker tries one key. */
const firstPauseMs = 500;
const maxPauseMs = 10_000;
/** Errors of the program itself, like a panic in Go. */
const bugs = [TypeError, ReferenceError, RangeError, SyntaxError, EvalError];

export class Controller {
  readonly #options: ControllerOptions;
  #active = 0;
  /** Consecutive reconciles that found no API server, the end of the pause, and whether a worker probes it. */
  #outage = { failures: 0, until: 0, probing: false };

  constructor(options: ControllerOptions) {
    this.#options = options;
  }

  enqueue(key: string, priority: Priority = 'normal'): void {
    this.#options.queue.add(key, priority);
  }

  /** Runs until the signal aborts (which aborts reconciles) or the queue is closed (which lets them finish), and all workers have ended. */
  async run(signal: AbortSignal): Promise<void> {
    this.#count(0);
    const { workers, client } = this.#options;
    const stop = client?.onReachable(() => {
      this.#outage.until = 0;
    });
    await Promise.all(Array.from({ length: workers }, () => this.#work(signal))).finally(() => stop?.());
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { queue } = this.#options;
    for (;;) {
      const probes = await this.#pause(signal);
      const key = await queue.take(signal);
      if (key === undefined) return;
      if (this.#outage.failures > 0 && !probes) {
        // The outage began while this worker waited for a key.
        queue.add(key);
        queue.done(key);
        continue;
      }
      this.#count(1);
      try {
        await this.#reconcile(key, signal);
      } finally {
        queue.done(key);
        this.#count(-1);
        if (probes) this.#outage.probing = false;
      }
    }
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const { name, timeoutMs, queue, reconcile, metrics } = this.#options;
    const timeout = new ReconcileTimeout(`${name} ${key} was not reconciled within ${timeoutMs} ms.`);
    const deadline = new Deadline(timeoutMs, () => timeout, [signal]);
    const began = performance.now();
    let result: ReconcileResult = 'success';
    try {
      // A reconcile that ignores its signal keeps its worker, because a key must not be reconciled concurrently.
      const reconciled = await reconcile(key, deadline.signal);
      queue.forget(key);
      this.#outage.failures = 0;
      if (reconciled?.requeueAfterMs !== undefined) {
        result = 'requeue_after';
        queue.addAfter(key, reconciled.requeueAfterMs);
      }
    } catch (error) {
      result = this.#failed(key, error, deadline.signal);
    } finally {
      deadline.end();
      if (deadline.signal.reason === timeout) metrics?.reconcileTimedOut(name);
      metrics?.reconciled(name, result, performance.now() - began);
    }
  }

  #failed(key: string, error: unknown, signal: AbortSignal): ReconcileResult {
    const { name, queue, log, metrics } = this.#options;
    const ended = signal.aborted && !(signal.reason instanceof ReconcileTimeout);
    if (ended) {
      // The lease was lost or the process ends: the key stays queued for the next leader.
      queue.add(key);
      return 'error';
    }
    if (isUnreachable(error)) {
      // The key is not the cause: it is retried when the API server is reachable, and few requests are sent until then.
      this.#beginPause();
      queue.addAfter(key, firstPauseMs);
      log.debug({ controller: name, key, error: (error as Error).message }, 'reconcile found no API server');
      return 'error';
    }
    this.#outage.failures = 0;
    if (error instanceof TerminalError) {
      queue.forget(key);
      log.warn({ controller: name, key, error: error.message }, 'reconcile failed permanently');
      return 'terminal_error';
    }
    const panicked = !(error instanceof Error) || bugs.some((bug) => error instanceof bug);
    if (panicked) metrics?.reconcilePanicked(name);
    const atLeastMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    const failures = queue.failures(key) + 1;
    const againInMs = Math.round(queue.addRateLimited(key, 'normal', atLeastMs));
    const details = panicked ? { err: error } : { error: error.message };
    // Conflicts are normal.
    const level = panicked ? 'error' : isConflict(error) ? 'debug' : 'warn';
    log[level]({ controller: name, key, failures, againInMs, ...details }, 'reconcile failed');
    return 'error';
  }

  #beginPause(): void {
    const now = performance.now();
    // Workers that fail together count as one failure.
    if (now < this.#outage.until) return;
    const { failures } = this.#outage;
    this.#outage.failures = failures + 1;
    this.#outage.until = now + Math.min(firstPauseMs * 2 ** failures, maxPauseMs);
  }

  /** Waits during an outage of the API server. @returns whether this worker probes it */
  async #pause(signal: AbortSignal): Promise<boolean> {
    const outage = this.#outage;
    while (outage.failures > 0 && !signal.aborted && !this.#options.queue.closed) {
      const left = outage.until - performance.now();
      if (left <= 0 && !outage.probing) {
        outage.probing = true;
        return true;
      }
      // In slices, so that all workers continue soon after the probe succeeded.
      await sleep(Math.min(Math.max(left, 50), firstPauseMs), signal);
    }
    return false;
  }

  #count(change: number): void {
    const { name, workers, metrics } = this.#options;
    this.#active += change;
    metrics?.workers(name, this.#active, workers);
  }
}
