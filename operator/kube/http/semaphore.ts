// Semaphore: limits concurrency and queues further callers.
import { clientError } from './kube-error.ts';

export class Semaphore {
  readonly #width: number;
  readonly #longest: number;
  readonly #waiting = new Set<() => void>();
  #inside = 0;

  /** `longest`: maximum length of the queue. */
  constructor(width: number, longest: number) {
    this.#width = width;
    this.#longest = longest;
  }

  /** Runs `work` in turn. @throws the reason of the signal, KubeError 'Overloaded' if the queue is full */
  async through<R>(signal: AbortSignal, work: () => Promise<R>): Promise<R> {
    if (this.#inside < this.#width) this.#inside += 1;
    else await this.#turn(signal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#waiting.size >= this.#longest)
      return Promise.reject(clientError('Overloaded', `More than ${this.#longest} requests wait for the API server.`));
    return new Promise((resolve, reject) => {
      const end = () => {
        this.#waiting.delete(waiter);
        signal.removeEventListener('abort', giveUp);
      };
      const giveUp = () => {
        end();
        reject(signal.reason);
      };
      const waiter = () => {
        end();
        resolve();
      };
      this.#waiting.add(waiter);
      signal.addEventListener('abort', giveUp);
    });
  }

  /** The slot is passed to the next caller in the queue, so that a new caller cannot overtake it. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next) next();
    else this.#inside -= 1;
  }
}
