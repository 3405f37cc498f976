// Data hold: a time without messages of a data track, in which its publisher or its receivers change to another channel without a loss.
import { settleWithin } from '../../../common/timer.ts';

/** Time in milliseconds for the client of the publisher to respond. */
const responseTimeoutMs = 3_000;

export type DataHoldOptions = {
  /** True if the client of the publisher can hold messages, and it is of use: each one arrives. */
  supported: () => boolean;
  /** Requests that it holds messages. */
  request: () => void;
  /** Resolves when this number of messages has arrived. */
  arrived: (messages: number) => Promise<void>;
  /** `held`: it was requested. */
  end: (held: boolean) => void;
};

export class DataHold {
  readonly #options: DataHoldOptions;
  #work: (() => Promise<void>)[] = [];
  #running = false;
  /** Until the client responds. */
  #response: PromiseWithResolvers<number> | undefined;

  constructor(options: DataHoldOptions) {
    this.#options = options;
  }

  /** Work of several callers shares one hold. Resolves when it is done. Never fails. */
  run(work: () => Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      this.#work.push(() => work().then(resolve, () => resolve()));
      if (!this.#running) void this.#run();
    });
  }

  /** The client holds messages, after this number of them. Ignored if that was not requested. */
  held(messages: number): void {
    this.#response?.resolve(messages);
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#work.length > 0) {
      const held = this.#options.supported();
      if (held) await this.#hold();
      const work = this.#work;
      this.#work = [];
      await Promise.all(work.map((each) => each()));
      this.#options.end(held);
    }
    this.#running = false;
  }

  async #hold(): Promise<void> {
    const response = Promise.withResolvers<number>();
    let messages: number | undefined;
    this.#response = response;
    this.#options.request();
    const responded = response.promise.then((count) => {
      messages = count;
    });
    await settleWithin(responseTimeoutMs, [responded]);
    this.#response = undefined;
    if (messages !== undefined) await this.#options.arrived(messages);
  }
}
