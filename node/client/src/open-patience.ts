// How long a socket may take to open, judged by how long the last one took: behind a proxy one of several servers may be gone without a word.
import type { Timing } from './options.ts';

/** So many times as long as the last one is too long. */
const factor = 4;

export class OpenPatience {
  readonly #timing: Pick<Timing, 'openTimeout' | 'connectTimeout'>;
  /** Milliseconds that the last one took; undefined where nothing is known of this network. */
  #usual: number | undefined;
  #failures = 0;

  constructor(timing: Pick<Timing, 'openTimeout' | 'connectTimeout'>) {
    this.#timing = timing;
  }

  /** Milliseconds for the next one: twice as many with each in a row that did not open, so that a slow network has its time. */
  get limit(): number {
    const { openTimeout, connectTimeout } = this.#timing;
    if (this.#usual === undefined) return connectTimeout;
    return Math.min(connectTimeout, Math.max(openTimeout, factor * this.#usual) * 2 ** this.#failures);
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
