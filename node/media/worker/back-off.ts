// Backoff: delay before a media worker is restarted.

const first = 250;
const maxBackoffMs = 30_000;
/** Lifetime in milliseconds after which a worker counts as healthy: the delay is reset. */
const stableLifetime = 60_000;

/** Restart delays in milliseconds: 250, doubling up to 30 s. */
export class BackOff {
  #next = first;

  /** `lifetime`: uptime of the dead worker; 0 if it did not start. */
  delayAfter(lifetime: number): number {
    if (lifetime >= stableLifetime) this.#next = first;
    const delay = this.#next;
    this.#next = Math.min(delay * 2, maxBackoffMs);
    return delay;
  }
}
