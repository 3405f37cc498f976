// Whether a worker still does anything: asked every 2 s, given up 6 s after the first question that stays without any answer.

/** Milliseconds between looks. */
export const beatInterval = 2000;
/** Looks in a row that show no sign of life. */
export const maxMissed = 3;

/** What to do now. `ask`: a question is to be sent; `late`: the first look in vain; `dead`: it shows no sign of life any more. */
export type Beat = 'ask' | 'wait' | 'late' | 'dead';

/**
 * Counts looks, not time: while this process is held up itself nobody looks, so a worker is never blamed for that. Any answer counts: a
 * worker that has much to do answers one question after the other.
 */
export class Heartbeat {
  #asked = false;
  #missed = 0;

  /** To be called every beatInterval, once what waits in the pipe was read. */
  look(): Beat {
    if (!this.#asked) {
      this.#asked = true;
      return 'ask';
    }
    this.#missed += 1;
    if (this.#missed >= maxMissed) return 'dead';
    return this.#missed === 1 ? 'late' : 'wait';
  }

  /** The question was answered. */
  answered(): void {
    this.#asked = false;
    this.#missed = 0;
  }

  /** Something else was answered. */
  heard(): void {
    this.#missed = 0;
  }
}
