// So many at a time; the rest wait in line.
import { KubeError } from './kube-error.ts';

type Waiter = { go: () => void };

export class Semaphore {
  readonly #width: number;
  readonly #longest: number;
  readonly #waiting = new Set<Waiter>();
  #inside = 0;

  /** `longest`: how many may wait. */
  constructor(width: number, longest: number) {
    this.#width = width;
    this.#longest = longest;
  }

  /** Runs `work` when its turn comes. @throws the signal's reason, KubeError 'Overloaded' where too many wait */
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
      return Promise.reject(
        new KubeError({ status: 0, reason: 'Overloaded', message: `More than ${this.#longest} calls wait for the API server.` }),
      );
    return new Promise((resolve, reject) => {
      const end = () => {
        this.#waiting.delete(waiter);
        signal.removeEventListener('abort', giveUp);
      };
      const giveUp = () => {
        end();
        reject(signal.reason);
      };
      const waiter: Waiter = {
        go: () => {
          end();
          resolve();
        },
      };
      this.#waiting.add(waiter);
      signal.addEventListener('abort', giveUp);
    });
  }

  /** The place goes to the next in line, so that nobody slips in between. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next) next.go();
    else this.#inside -= 1;
  }
}
