// Heartbeat: detects dead sockets with application pings, because browsers expose neither WebSocket pings nor silently lost connections.

export type HeartbeatOptions = {
  /** Ping interval in milliseconds. */
  interval: number;
  /** Milliseconds without any frame after which the socket is lost; longer than `interval`. */
  silence: number;
  ping: () => void;
  lost: () => void;
};

/** Runs from construction to stop(). */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #interval: ReturnType<typeof setInterval>;
  #watch: ReturnType<typeof setTimeout> | undefined;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#interval = setInterval(() => this.#ping(options.silence - options.interval), options.interval);
  }

  /** A frame was received. */
  heard(): void {
    clearTimeout(this.#watch);
    this.#watch = undefined;
  }

  /** Probes the connection: it is lost unless a frame arrives soon. */
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
      // After sleep mode the timer fires before pending frames are read: probe once more.
      if (performance.now() - from > timeoutMs * 1.5 + 1000) {
        this.#watch = undefined;
        this.probe();
      } else this.#options.lost();
    }, timeoutMs);
  }
}
