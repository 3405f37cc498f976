// Helpers for FFmpeg: errors, and safe freeing of native objects. Only this folder imports node-av.
import { FFmpegError, Log } from 'node-av';
import { AV_LOG_QUIET, AVERROR_EAGAIN, AVERROR_EOF } from 'node-av/constants';

// Invalid media of clients must not fill the log; errors are returned as codes.
Log.setLevel(AV_LOG_QUIET);

/** Error of FFmpeg; `code` is its negative error number. */
export class AvError extends Error {
  readonly code: number;

  constructor(what: string, code: number) {
    super(`${what}: ${FFmpegError.strerror(code)}`);
    this.code = code;
  }
}

/** @throws AvError if FFmpeg returned an error */
export function throwOnError(code: number, what: string): void {
  if (code < 0) throw new AvError(what, code);
}

/** True if there is output. @throws AvError for errors other than EAGAIN and EOF */
export function hasOutput(code: number, what: string): boolean {
  if (code === AVERROR_EAGAIN || code === AVERROR_EOF) return false;
  throwOnError(code, what);
  return true;
}

/** Native objects must not be freed during an operation in another thread: frees after the last operation. */
export class DeferredFree {
  readonly #free: () => void;
  #calls = 0;
  #closed = false;

  constructor(free: () => void) {
    this.#free = free;
  }

  /** @throws Error after close() */
  async use<Result>(call: () => Promise<Result>): Promise<Result> {
    if (this.#closed) throw new Error('Closed');
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
