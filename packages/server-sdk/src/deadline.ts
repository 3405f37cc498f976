// Deadline: aborts a request at its timeout or by the caller's signal, and removes its listeners.
import { MediaroomsError } from './errors.ts';

export class Deadline {
  readonly #controller = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #caller: AbortSignal | undefined;
  readonly #onAbort = () => this.#controller.abort(aborted(this.#caller));

  constructor(milliseconds: number, caller?: AbortSignal) {
    this.#caller = caller;
    this.#timer = setTimeout(() => this.#controller.abort(timedOut(milliseconds)), milliseconds);
    if (caller?.aborted) this.#onAbort();
    else caller?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Aborted with a MediaroomsError as reason. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Idempotent. */
  end(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener('abort', this.#onAbort);
  }
}

/** @throws MediaroomsError `aborted` */
export function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(aborted(signal));
      return;
    }
    const stop = () => {
      clearTimeout(timer);
      reject(aborted(signal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', stop, { once: true });
  });
}

export function aborted(signal: AbortSignal | undefined): MediaroomsError {
  return new MediaroomsError({ code: 'aborted', message: 'The request was aborted', cause: signal?.reason });
}

function timedOut(milliseconds: number): MediaroomsError {
  return new MediaroomsError({ code: 'timed_out', message: `No response within ${milliseconds} ms` });
}
