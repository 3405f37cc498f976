// Deadline: combines a timeout and other signals into one signal.

/**
 * Combines a timeout with other signals; `end()` releases both. Unlike AbortSignal.any with AbortSignal.timeout it leaves no listener on a
 * signal that lives as long as the process.
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #parents: readonly AbortSignal[];
  readonly #ms: number;
  #at: number;
  readonly #timer: NodeJS.Timeout;

  /** `reason` creates the abort reason of the timeout; other signals pass on their reasons. */
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

  /** Remaining milliseconds. */
  get left(): number {
    return this.#at - performance.now();
  }

  /** Restarts the timeout. */
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

/** Resolves after the time or when the signal aborts. @returns whether the whole time passed */
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
