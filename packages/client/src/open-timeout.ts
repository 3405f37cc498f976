// How long a socket may take to open, judged by how long the last one took: behind a proxy one of several servers may be gone without a word.
import type { Timing } from './options.ts';

/** So many times as long as the last one is too long. */
const factor = 4;
/** So many in a row may be the chance of a proxy; more are the network. */
const byChance = 3;

export class AdaptiveOpenTimeout {
  readonly #timing: Pick<Timing, 'openTimeout' | 'connectTimeout'>;
  /** Milliseconds that the last one took; undefined where nothing is known of this network. */
  #usual: number | undefined;
  #failures = 0;

  constructor(timing: Pick<Timing, 'openTimeout' | 'connectTimeout'>) {
    this.#timing = timing;
  }

  /** Milliseconds for the next one; where none opens twice as many with each, so that a network that became slow has its time. */
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

  /** The network is another one. */
  forget(): void {
    this.#usual = undefined;
    this.#failures = 0;
  }
}
