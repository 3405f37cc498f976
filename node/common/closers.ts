// Closers of a node: each part puts its end on one stack, and the end of the node unwinds it in reverse.

/** Time that is left for the end of a node. */
export class Ending {
  readonly #began = performance.now();
  /** Milliseconds in which rooms may end. */
  readonly drainTimeout: number;
  readonly #hurried: boolean;

  /** `hurried`: nothing is waited for, because the start of the node failed. */
  constructor(drainTimeout: number, hurried = false) {
    this.drainTimeout = drainTimeout;
    this.#hurried = hurried;
  }

  /** Milliseconds that are left of a time that began with the end. */
  left(time: number): number {
    return this.#hurried ? 0 : Math.max(0, this.#began + time - performance.now());
  }

  /** A timeout of a step, in milliseconds. */
  timeout(milliseconds: number): number {
    return this.#hurried ? 0 : milliseconds;
  }
}

export type Closer = (ending: Ending) => unknown;

export class Closers {
  readonly #closers: Closer[] = [];

  /** Closers that are added first run last. Functions in one call run side by side. */
  add(...closers: readonly Closer[]): void {
    this.#closers.push(async (ending) => {
      await Promise.all(closers.map((close) => close(ending)));
    });
  }

  /** Runs each closer once, in reverse order. */
  async unwind(ending: Ending): Promise<void> {
    for (let close = this.#closers.pop(); close; close = this.#closers.pop()) await close(ending);
  }
}
