// Timeouts of media worker requests: mediasoup's channel waits forever.
import { setImmediate, setTimeout } from 'node:timers';
import { ServiceError } from '../../api/errors.ts';

/** Timeout of a worker request in milliseconds. */
const workerRequestTimeoutMs = 5000;

export class WorkerTimeoutError extends ServiceError {
  constructor(what: string) {
    super('unavailable', `The media worker did not respond in time (${what})`, { retryAfter: 1 });
    this.name = 'WorkerTimeoutError';
  }
}

/**
 * Waits for a call at most `deadline` milliseconds. A later result is passed to `discard`, so that it can be released.
 * @throws WorkerTimeoutError
 */
export function withTimeout<Value>(
  call: Promise<Value>,
  what: string,
  discard?: (value: Value) => void,
  deadline = workerRequestTimeoutMs,
): Promise<Value> {
  return new Promise<Value>((resolve, reject) => {
    let late = false;
    const expire = () => {
      late = true;
      reject(new WorkerTimeoutError(what));
    };
    // If this process was blocked, the timer fires before the response pending in the pipe is read.
    const timer = setTimeout(() => setImmediate(() => setImmediate(expire)), deadline);
    call.then(
      (value) => {
        clearTimeout(timer);
        if (late) discard?.(value);
        else resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
