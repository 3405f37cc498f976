// Adaptive open timeout: limits the opening of a socket by the duration of the last one, because a proxy may route to a lost server.
import type { Timing } from './options.ts';

/** Multiple of the last duration that is too long. */
const factor = 4;
/** Consecutive failures that may be caused by a proxy; more indicate a slow network. */
const byChance = 3;

export class AdaptiveOpenTimeout {
  readonly #timing: Pick<Timing, 'openTimeout' | 'connectTimeout'>;
  /** Duration of the last successful opening in milliseconds; undefined if unknown for this network. */
  #usual: number | undefined;
  #failures = 0;

  constructor(timing: Pick<Timing, 'openTimeout' | 'connectTimeout'>) {
    this.#timing = timing;
  }

  /** Timeout of the next attempt in milliseconds; doubled per attempt after repeated failures, for networks that became slow. */
  get limit(): number {
    const { openTimeout, connectTimeout } = this.#timing;
    if (this.#usual === undefined) return connectTimeout;
    return Math.min(connectTimeout, Math.max(openTimeout, factor * this.#usual) * 2 ** Math.max(0, this.#failures - byChance + 1));
  }

  /** @param took milliseconds */
  opened(took: number): void {
    this.#usual = took;
    this.#failures = 0;
  }

  failed(): void {
    this.#failures += 1;
  }

  /** The network changed. */
  forget(): void {
    this.#usual = undefined;
    this.#failures = 0;
  }
}
