// Pings, and the watch over silence: browsers show neither pings of the websocket nor a connection that died quietly.

export type HeartbeatOptions = {
  /** Milliseconds between pings. */
  interval: number;
  /** Milliseconds without any frame after which the socket counts as lost; longer than `interval`. */
  silence: number;
  ping: () => void;
  lost: () => void;
};

/** Runs from its making to stop(). */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #interval: ReturnType<typeof setInterval>;
  #watch: ReturnType<typeof setTimeout> | undefined;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#interval = setInterval(() => this.#ping(options.silence - options.interval), options.interval);
  }

  /** A frame came. */
  heard(): void {
    clearTimeout(this.#watch);
    this.#watch = undefined;
  }

  /** There is a reason for doubt: lost unless something is heard soon. */
  probe(): void {
    this.heard();
    this.#ping(this.#options.silence / 4);
  }

  stop(): void {
    clearInterval(this.#interval);
    clearTimeout(this.#watch);
  }

  #ping(timeoutMs: number): void {
    this.#options.ping();
    if (this.#watch === undefined) this.#expect(timeoutMs);
  }

  #expect(timeoutMs: number): void {
    const from = performance.now();
    this.#watch = setTimeout(() => {
      // A machine that slept has its timers before the frames that came meanwhile: it asks once more.
      if (performance.now() - from > timeoutMs * 1.5 + 1000) {
        this.#watch = undefined;
        this.probe();
      } else this.#options.lost();
    }, timeoutMs);
  }
}
