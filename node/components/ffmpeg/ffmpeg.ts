// What all that is made of FFmpeg shares: its errors, and when its objects may be freed. Only this folder imports node-av.
import { FFmpegError, Log } from 'node-av';
import { AV_LOG_QUIET, AVERROR_EAGAIN, AVERROR_EOF } from 'node-av/constants';

// Broken media of a stranger is no line in our log; errors come back as codes.
Log.setLevel(AV_LOG_QUIET);

/** FFmpeg refused; `code` as FFmpeg has it (negative). */
export class AvError extends Error {
  readonly code: number;

  constructor(what: string, code: number) {
    super(`${what}: ${FFmpegError.strerror(code)}`);
    this.code = code;
  }
}

/** @throws AvError where FFmpeg said so */
export function throwOnError(code: number, what: string): void {
  if (code < 0) throw new AvError(what, code);
}

/** Whether there is something. @throws AvError for what is neither "not now" nor "no more" */
export function hasOutput(code: number, what: string): boolean {
  if (code === AVERROR_EAGAIN || code === AVERROR_EOF) return false;
  throwOnError(code, what);
  return true;
}

/** Nothing of FFmpeg may be freed while a call on it is under way in another thread: this frees when the last has ended. */
export class DeferredFree {
  readonly #free: () => void;
  #calls = 0;
  #closed = false;

  constructor(free: () => void) {
    this.#free = free;
  }

  /** @throws Error when it is closed */
  async use<Result>(call: () => Promise<Result>): Promise<Result> {
    if (this.#closed) throw new Error('It is closed');
    this.#calls += 1;
    try {
      return await call();
    } finally {
      this.#calls -= 1;
      if (this.#closed && this.#calls === 0) this.#free();
    }
  }

  /** Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#calls === 0) this.#free();
  }
}
