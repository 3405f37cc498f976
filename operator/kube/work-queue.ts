// Work queue: deduplicates keys, never gives a key to two workers, and delays failed keys with backoff.
import type { QueueObserver } from './observer.ts';

export type Priority = 'high' | 'normal';

export type WorkQueueOptions = {
  name: string;
  metrics?: QueueObserver;
  /** Initial backoff of a failed key, doubled each time. Default 5 ms. */
  baseMs?: number;
  /** Default 5 min. */
  capMs?: number;
  /** Maximum queued keys. Default 100,000. */
  limit?: number;
  /** Monotonic clock in milliseconds. */
  now?: () => number;
  random?: () => number;
};

type Wanted = { priority: Priority; since: number };
type Delayed = { at: number; priority: Priority; timer: NodeJS.Timeout };

/** After this number of keys of high priority a key of normal priority is taken. */
const maxHighInARow = 8;
const maxTimerMs = 2 ** 31 - 1;

/** Semantics of the workqueue of client-go: a key added during its reconcile is reconciled again. */
export class WorkQueue {
  readonly name: string;
  readonly #options: Required<Omit<WorkQueueOptions, 'metrics'>>;
  readonly #metrics: QueueObserver | undefined;
  readonly #high = new Map<string, Wanted>();
  readonly #normal = new Map<string, Wanted>();
  /** Keys being reconciled: since when, and whether they were added again. */
  readonly #working = new Map<string, { since: number; again?: Priority }>();
  readonly #delayed = new Map<string, Delayed>();
  readonly #failures = new Map<string, number>();
  readonly #takers = new Set<(key: string | undefined) => void>();
  #highInARow = 0;
  #closed = false;

  constructor(options: WorkQueueOptions) {
    const { metrics, ...rest } = options;
    this.name = options.name;
    this.#metrics = metrics;
    const defaults = { baseMs: 5, capMs: 5 * 60_000, limit: 100_000, now: () => performance.now(), random: Math.random };
    this.#options = { ...defaults, ...rest };
    metrics?.queueCreated(this);
  }

  /** Keys that are ready to be taken. */
  get depth(): number {
    return this.#high.size + this.#normal.size;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Delayed keys. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /** Milliseconds since the start of each running reconcile. */
  workTimes(): number[] {
    return [...this.#working.values()].map(({ since }) => this.#options.now() - since);
  }

  /** A queued key can only gain priority. */
  add(key: string, priority: Priority = 'normal'): void {
    if (this.#closed) return;
    const working = this.#working.get(key);
    if (working) {
      if (working.again === undefined) this.#metrics?.queueAdded(this.name);
      if (working.again !== 'high') working.again = priority;
      return;
    }
    if (this.#high.has(key)) return;
    const waiting = this.#normal.get(key);
    if (waiting && priority === 'normal') return;
    if (!waiting && this.#isFull(this.depth)) return;
    if (waiting) this.#normal.delete(key);
    else this.#metrics?.queueAdded(this.name);
    this.#want(key, { priority, since: waiting?.since ?? this.#options.now() });
  }

  /** Adds a key after a delay; the earliest of several delays wins. */
  addAfter(key: string, ms: number, priority: Priority = 'normal'): void {
    if (this.#closed) return;
    if (!(ms > 0)) {
      this.add(key, priority);
      return;
    }
    const at = this.#options.now() + ms;
    const earlier = this.#delayed.get(key);
    if (earlier && earlier.at <= at) return;
    if (!earlier && this.#isFull(this.#delayed.size)) return;
    clearTimeout(earlier?.timer);
    const timer = setTimeout(() => this.#due(key), Math.min(ms, maxTimerMs));
    this.#delayed.set(key, { at, priority, timer });
  }

  /** Adds a key after its backoff, but not before `atLeastMs`. @returns the delay */
  addRateLimited(key: string, priority: Priority = 'normal', atLeastMs = 0): number {
    const { baseMs, capMs, random } = this.#options;
    const failures = this.failures(key);
    this.#failures.set(key, failures + 1);
    const backOff = Math.min(baseMs * 2 ** Math.min(failures, 40), capMs);
    // Jitter of up to a quarter, so that keys that failed together do not return together.
    const ms = Math.max(atLeastMs, backOff * (1 - 0.25 * random()));
    this.#metrics?.queueRetried(this.name);
    this.addAfter(key, ms, priority);
    return ms;
  }

  /** Resets the backoff of the key. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The next key; `undefined` if the queue is closed or the signal aborts. The caller must call `done`. */
  take(signal: AbortSignal): Promise<string | undefined> {
    if (this.#closed || signal.aborted) return Promise.resolve(undefined);
    const key = this.#next();
    if (key !== undefined) return Promise.resolve(key);
    return new Promise((resolve) => {
      const stop = () => taker(undefined);
      const taker = (given: string | undefined) => {
        this.#takers.delete(taker);
        signal.removeEventListener('abort', stop);
        resolve(given);
      };
      this.#takers.add(taker);
      signal.addEventListener('abort', stop);
    });
  }

  done(key: string): void {
    const working = this.#working.get(key);
    if (!working) return;
    this.#working.delete(key);
    this.#metrics?.queueDone(this.name, this.#options.now() - working.since);
    if (working.again !== undefined && !this.#closed) this.#want(key, { priority: working.again, since: this.#options.now() });
  }

  /** No key is returned any more; workers end after their current key. */
  close(): void {
    this.#closed = true;
    for (const { timer } of this.#delayed.values()) clearTimeout(timer);
    this.#delayed.clear();
    this.#high.clear();
    this.#normal.clear();
    for (const taker of [...this.#takers]) taker(undefined);
  }

  /** A rejected key is lost until the next resync, so it is counted. */
  #isFull(size: number): boolean {
    if (size < this.#options.limit) return false;
    this.#metrics?.queueRefused(this.name);
    return true;
  }

  #want(key: string, wanted: Wanted): void {
    (wanted.priority === 'high' ? this.#high : this.#normal).set(key, wanted);
    const [taker] = this.#takers;
    if (taker) taker(this.#next());
  }

  #next(): string | undefined {
    const turnOfNormal = this.#highInARow >= maxHighInARow && this.#normal.size > 0;
    const from = this.#high.size > 0 && !turnOfNormal ? this.#high : this.#normal;
    const [first] = from;
    if (!first) return undefined;
    const [key, { since }] = first;
    this.#highInARow = from === this.#high ? this.#highInARow + 1 : 0;
    from.delete(key);
    const now = this.#options.now();
    this.#working.set(key, { since: now });
    this.#metrics?.queueTaken(this.name, now - since);
    return key;
  }

  #due(key: string): void {
    const entry = this.#delayed.get(key);
    if (!entry) return;
    this.#delayed.delete(key);
    // Only a delay longer than the maximum of a timer has time left.
    const left = entry.at - this.#options.now();
    if (left > 1000) this.addAfter(key, left, entry.priority);
    else this.add(key, entry.priority);
  }
}
