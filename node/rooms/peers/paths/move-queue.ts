// Move queue: bounds how many peers of a room move at the same time; others wait for their turn.
import { ServiceError } from '../../../../api/errors.ts';
import { Timer } from '../../../common/timer.ts';

/** Each costs its client and those that receive its tracks a negotiation. More at once are slower, and hardly any ends sooner. */
const maxMoves = 8;
/** Leaves enough of the timeout of the operation for the move. */
const maxWaitMs = 45_000;

export class MoveQueue {
  readonly #maxMoves: number;
  /** Begin the turns of those that wait, the first one first. */
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(max = maxMoves) {
    this.#maxMoves = max;
  }

  /** Runs a move when it is its turn. @throws ServiceError `unavailable` if that takes too long; the reason of the signal */
  async run(signal: AbortSignal, move: () => Promise<void>): Promise<void> {
    if (this.#running < this.#maxMoves) this.#running += 1;
    else await this.#turn(signal);
    try {
      signal.throwIfAborted();
      await move();
    } finally {
      this.#next();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    const turn = Promise.withResolvers<void>();
    // At once: the next turn must be that of another one.
    const fail = (error: unknown) => {
      this.#waiting.delete(turn.resolve);
      turn.reject(error);
    };
    const timer = new Timer(maxWaitMs, () => fail(new ServiceError('unavailable', 'Other peers of the room are still being moved')));
    const cancel = () => fail(signal.reason);
    signal.addEventListener('abort', cancel);
    this.#waiting.add(turn.resolve);
    return turn.promise.finally(() => {
      timer.stop();
      signal.removeEventListener('abort', cancel);
    });
  }

  #next(): void {
    const [begin] = this.#waiting;
    if (!begin) {
      this.#running -= 1;
      return;
    }
    this.#waiting.delete(begin);
    begin();
  }
}
