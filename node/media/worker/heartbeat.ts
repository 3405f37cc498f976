// Heartbeat of a media worker: probed every 2 s, declared dead after 6 s without a response.

/** Interval between two checks in milliseconds. */
export const beatInterval = 2000;
/** Consecutive checks without a response until the worker is dead. */
const maxMissed = 3;

/** Result of a check. `ask`: send a probe; `late`: first check without a response; `dead`: the worker is unresponsive. */
export type Beat = 'ask' | 'wait' | 'late' | 'dead';

/**
 * Counts checks, not time: if this process is blocked, no check runs, so the worker is not blamed. Any response counts: a busy worker
 * answers its requests one after the other.
 */
export class Heartbeat {
  #asked = false;
  #missed = 0;

  /** Call it every beatInterval, after reading pending input of the pipe. */
  check(): Beat {
    if (!this.#asked) {
      this.#asked = true;
      return 'ask';
    }
    this.#missed += 1;
    if (this.#missed >= maxMissed) return 'dead';
    return this.#missed === 1 ? 'late' : 'wait';
  }

  /** The probe was answered. */
  answered(): void {
    this.#asked = false;
    this.#missed = 0;
  }

  /** Another request was answered. */
  heard(): void {
    this.#missed = 0;
  }
}
