// Ticker: calls back for each block on time, by a monotonic clock.
import { Timer } from '../../../common/timer.ts';
import { frameDuration } from './audio-format.ts';

/** Maximum of blocks to catch up after a delay; older blocks are skipped. */
const maxBehind = 10;

export class Ticker {
  readonly #onBlock: (number: number) => void;
  readonly #start = performance.now();
  #timer: Timer | undefined;
  #next = 0;

  constructor(onBlock: (number: number) => void) {
    this.#onBlock = onBlock;
  }

  /** Milliseconds since creation; block `n` is due at `n * frameDuration`. */
  get now(): number {
    return performance.now() - this.#start;
  }

  get runs(): boolean {
    return this.#timer !== undefined;
  }

  /** Idempotent. Blocks that were due while it was stopped are skipped. */
  start(): void {
    if (this.#timer) return;
    this.#next = Math.ceil(this.now / frameDuration);
    this.#wait();
  }

  /** Idempotent. */
  stop(): void {
    this.#timer?.stop();
    this.#timer = undefined;
  }

  #wait(): void {
    this.#timer = new Timer(Math.ceil(Math.max(0, this.#next * frameDuration - this.now)), () => this.#run());
  }

  #run(): void {
    const due = Math.floor(this.now / frameDuration);
    this.#next = Math.max(this.#next, due - maxBehind);
    for (; this.#next <= due && this.#timer; this.#next += 1) this.#onBlock(this.#next);
    if (this.#timer) this.#wait();
  }
}
