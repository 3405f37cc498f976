// How long to wait before a worker is started again.

const first = 250;
const maxBackoffMs = 30_000;
/** A worker that lived this long, in milliseconds, is thought sound: the next death waits as the first did. */
const soundLifetime = 60_000;

/** Delays of restarts in milliseconds: 250, doubling up to 30 s. */
export class BackOff {
  #next = first;

  /** `lifetime`: how long the worker that died had lived; 0 for one that did not start. */
  delayAfter(lifetime: number): number {
    if (lifetime >= soundLifetime) this.#next = first;
    const delay = this.#next;
    this.#next = Math.min(delay * 2, maxBackoffMs);
    return delay;
  }
}
