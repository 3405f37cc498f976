// An end for whatever takes time: a deadline of its own and the signals of others, in one signal.

/**
 * One signal out of a time and other signals; `end()` lets go of both. Unlike AbortSignal.any with AbortSignal.timeout,
 * nothing of it stays with a signal that lives as long as the process.
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #parents: readonly AbortSignal[];
  readonly #ms: number;
  #at: number;
  readonly #timer: NodeJS.Timeout;

  /** `reason` makes what the signal aborts with when the time is over; others pass on their own reason. */
  constructor(ms: number, reason: () => unknown, parents: readonly AbortSignal[] = []) {
    this.#ms = ms;
    this.#at = performance.now() + ms;
    this.#timer = setTimeout(() => this.#controller.abort(reason()), ms);
    this.#parents = parents;
    for (const parent of this.#parents) {
      if (parent.aborted) this.#controller.abort(parent.reason);
      parent.addEventListener('abort', this.#passOn);
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Milliseconds until the end. */
  get left(): number {
    return this.#at - performance.now();
  }

  /** The whole time anew, from now on. */
  refresh(): void {
    this.#at = performance.now() + this.#ms;
    this.#timer.refresh();
  }

  end(): void {
    clearTimeout(this.#timer);
    for (const parent of this.#parents) parent.removeEventListener('abort', this.#passOn);
  }

  readonly #passOn = (event: Event): void => {
    this.#controller.abort((event.target as AbortSignal).reason);
  };
}

/** Resolves after the time, or as soon as the signal aborts; says whether the whole time went by. */
export function sleep(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const finish = (whole: boolean) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      resolve(whole);
    };
    const stop = () => finish(false);
    const timer = setTimeout(() => finish(true), ms);
    signal.addEventListener('abort', stop);
  });
}
