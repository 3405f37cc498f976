// Poller: loads one resource periodically, never concurrently, with backoff after failures and paused while the page is hidden.

export type Polled<T> = {
  /** Undefined until the first response; kept while later requests fail. */
  data: T | undefined;
  /** Error of the last attempt; undefined if it succeeded. */
  error: unknown;
};

export type PollerOptions<T> = {
  load: (signal: AbortSignal) => Promise<T>;
  /** Milliseconds from a response to the next request. */
  every: number;
  onChange: (state: Polled<T>) => void;
  /** Visibility of the page, and a subscription to its changes. */
  isHidden: () => boolean;
  onVisibility: (listener: () => void) => () => void;
};

const maxDelay = 30_000;
/** Jitter, so that recovered nodes do not get requests from all pages at once. */
const spread = 0.25;

export class Poller<T> {
  readonly #options: PollerOptions<T>;
  readonly #stopListening: () => void;
  #state: Polled<T> = { data: undefined, error: undefined };
  #asking: AbortController | undefined;
  #again = false;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(options: PollerOptions<T>) {
    this.#options = options;
    this.#stopListening = options.onVisibility(() => {
      if (!options.isHidden() && !this.#timer) void this.refresh();
    });
    void this.refresh();
  }

  /** Requests now, or once more after the pending request. */
  async refresh(): Promise<void> {
    if (this.#closed) return;
    if (this.#asking) {
      this.#again = true;
      return;
    }
    this.#forgetTimer();
    const asking = new AbortController();
    this.#asking = asking;
    try {
      const data = await this.#options.load(asking.signal);
      this.#failures = 0;
      this.#tell({ data, error: undefined });
    } catch (error) {
      this.#failures += 1;
      this.#tell({ data: this.#state.data, error });
    } finally {
      this.#asking = undefined;
    }
    if (this.#closed) return;
    if (this.#again) {
      this.#again = false;
      return this.refresh();
    }
    this.#askLater();
  }

  /** Stops polling and reporting. Idempotent. */
  close(): void {
    this.#closed = true;
    this.#stopListening();
    this.#forgetTimer();
    this.#asking?.abort();
  }

  #askLater(): void {
    const { every } = this.#options;
    const delay = this.#failures === 0 ? every : Math.min(maxDelay, Math.max(every, 1_000) * 2 ** Math.min(this.#failures - 1, 10));
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        // A page that becomes visible again requests immediately.
        if (!this.#options.isHidden()) void this.refresh();
      },
      delay * (1 + spread * (Math.random() - 0.5)),
    );
  }

  #forgetTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #tell(state: Polled<T>): void {
    if (this.#closed) return;
    this.#state = state;
    this.#options.onChange(state);
  }
}
