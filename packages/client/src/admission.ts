// Admission: whether this peer waits to be admitted to its room.
import type { JoinResponse } from './generated/protocol.ts';
import { type Deferred, deferred } from './pending.ts';

export class Admission {
  #admitted: Deferred<void> | undefined;

  get waiting(): boolean {
    return this.#admitted !== undefined;
  }

  /** A new session. Resolves when its peer is admitted, which is at once for most rooms. */
  enter({ waiting }: JoinResponse): Promise<void> {
    this.#admitted = waiting ? deferred() : undefined;
    return this.#admitted?.promise ?? Promise.resolve();
  }

  /** @returns false if this peer did not wait */
  admitted(): boolean {
    const admitted = this.#admitted;
    this.#admitted = undefined;
    admitted?.resolve();
    return admitted !== undefined;
  }
}
