// Request queue of a session: executes requests in order, within the rate limit of messages and the budget of its peer.
import { TokenBucket } from '../common/token-bucket.ts';
import { WorkPayment } from '../common/work-payment.ts';

export type RequestQueueLimits = {
  readonly waitingRequests: number;
  readonly waitingBytes: number;
  readonly bytesPerMessage: number;
  readonly burst: number;
};
export type RequestQueueOptions = {
  limits: RequestQueueLimits;
  /** Messages per second; no limit if undefined or null. */
  rateLimit: () => number | null | undefined;
  /** Request budget of the peer, shared by all its sessions. */
  work: TokenBucket;
};
type Task = { bytes: number; cost: number; run: () => Promise<void> };

/** Messages that a new session sends without counting, for example candidates of its connections. */
const initiallyFree = 64;
const maxFree = 12_288;

export class RequestQueue {
  readonly #options: RequestQueueOptions;
  readonly #bucket: TokenBucket;
  #tasks: Task[] = [];
  #bytes = 0;
  #free = initiallyFree;
  #working = false;
  readonly #payment: WorkPayment;
  #ended = false;

  constructor(options: RequestQueueOptions) {
    this.#options = options;
    this.#bucket = new TokenBucket(options.rateLimit, options.limits.burst);
    this.#payment = new WorkPayment(options.work);
  }

  /** The server sent something to which the client responds with this number of messages. */
  allow(messages: number): void {
    this.#free = Math.min(maxFree, this.#free + messages);
  }

  /** Charges a message. `response`: its number is not chosen by the client. @returns false if there are too many */
  take(bytes: number, response: boolean): boolean {
    const cost = 1 + Math.floor(bytes / this.#options.limits.bytesPerMessage);
    if (response && this.#free >= cost) {
      this.#free -= cost;
      return true;
    }
    return this.#bucket.take(cost);
  }

  /** `cost`: units of the budget; the task waits until they are paid. @returns false if too much is waiting */
  push(task: Task): boolean {
    const { waitingRequests, waitingBytes } = this.#options.limits;
    if (this.#ended) return true;
    if (this.#tasks.length >= waitingRequests || this.#bytes + task.bytes > waitingBytes) return false;
    this.#tasks.push(task);
    this.#bytes += task.bytes;
    if (!this.#working) void this.#work();
    return true;
  }

  /** Drops what is waiting. Idempotent. */
  end(): void {
    this.#ended = true;
    this.#tasks = [];
    this.#bytes = 0;
    this.#payment.end();
  }

  async #work(): Promise<void> {
    this.#working = true;
    for (let next = this.#tasks.shift(); next && !this.#ended; next = this.#tasks.shift()) {
      this.#bytes -= next.bytes;
      await this.#payment.pay(next.cost);
      if (!this.#ended) await next.run();
    }
    this.#working = false;
  }
}
