// Bounds calls to workers in time: mediasoup's own channel waits for ever.
import { setImmediate, setTimeout } from 'node:timers';
import { ServiceError } from '../common/errors.ts';

/** How long a worker may take to answer, in milliseconds. */
export const workerRequestTimeoutMs = 5000;

export class WorkerTimeoutError extends ServiceError {
  constructor(what: string) {
    super('unavailable', `The media worker did not answer in time (${what})`, { retryAfter: 1 });
    this.name = 'WorkerTimeoutError';
  }
}

/**
 * Waits for a call at most `deadline` milliseconds. What comes later is handed to `discard`, so that nothing is left behind.
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
    // A process that was itself held up sees the timer first, the answer that waits in the pipe right after.
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
