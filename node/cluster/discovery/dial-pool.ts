// Dial pool: limits dials of all strategies to one per node and a few at a time, each with a timeout.
import { Timer } from '../../common/timer.ts';
import type { Connector } from './connector.ts';

const defaults = { concurrent: 32, deadline: 15_000 };

type Dial = { name: string; outcome: PromiseWithResolvers<boolean> };

export class DialPool {
  readonly #connector: Connector;
  readonly #concurrent: number;
  readonly #deadline: number;
  readonly #dials = new Map<string, Dial>();
  readonly #fresh: Dial[] = [];
  readonly #repeated: Dial[] = [];
  readonly #timers = new Set<Timer>();
  #running = 0;
  #closed = false;

  /** `deadline`: timeout of one dial in milliseconds. The dial counts as failed and frees its slot. */
  constructor(connector: Connector, { concurrent, deadline } = defaults) {
    this.#connector = connector;
    this.#concurrent = concurrent;
    this.#deadline = deadline;
  }

  /**
   * Dials a node, or waits for the dial in progress. Never rejects.
   * @param repeated True if a previous dial failed. First attempts have priority, so that unreachable nodes do not delay the others.
   */
  dial(name: string, repeated: boolean): Promise<boolean> {
    if (this.#closed) return Promise.resolve(false);
    const known = this.#dials.get(name);
    if (known) return known.outcome.promise;
    const dial = { name, outcome: Promise.withResolvers<boolean>() };
    this.#dials.set(name, dial);
    (repeated ? this.#repeated : this.#fresh).push(dial);
    this.#next();
    return dial.outcome.promise;
  }

  /** Fails all waiting and running dials. Later dials fail immediately. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) timer.stop();
    for (const { outcome } of this.#dials.values()) outcome.resolve(false);
    this.#timers.clear();
    this.#dials.clear();
    this.#fresh.length = 0;
    this.#repeated.length = 0;
  }

  #next(): void {
    while (this.#running < this.#concurrent) {
      const dial = this.#fresh.shift() ?? this.#repeated.shift();
      if (!dial) return;
      this.#running += 1;
      void this.#run(dial);
    }
  }

  async #run({ name, outcome }: Dial): Promise<void> {
    const timer = new Timer(this.#deadline, () => outcome.resolve(false));
    this.#timers.add(timer);
    void this.#connect(name).then(outcome.resolve);
    await outcome.promise;
    timer.stop();
    this.#timers.delete(timer);
    if (this.#closed) return;
    this.#running -= 1;
    this.#dials.delete(name);
    this.#next();
  }

  async #connect(name: string): Promise<boolean> {
    try {
      return await this.#connector.connect(name);
    } catch {
      return false;
    }
  }
}
