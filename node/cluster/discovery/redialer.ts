// Redialer: dials target nodes with backoff until they are connected, and again after a disconnect.
import { Timer } from '../../common/timer.ts';
import type { Connector } from './connector.ts';
import type { DialPool } from './dial-pool.ts';

const first = 500;
const maxBackoffMs = 30_000;
/** Connections that were shorter than this, in milliseconds, count as failures: two nodes that disconnect each other must not loop. */
const stableLifetime = 5_000;

/**
 * Delay in milliseconds after a number of consecutive failures: 500, doubling, minus up to half of it at random, so that nodes that lost
 * the same node do not redial in step.
 * @param random from 0 to below 1
 */
export function backoffDelay(failures: number, limit: number, random: number): number {
  const delay = Math.min(first * 2 ** Math.min(failures - 1, 16), limit);
  return Math.round(delay * (1 - random / 2));
}

export type RedialerOptions = {
  connector: Connector;
  pool: DialPool;
  random: () => number;
  /** Monotonic clock in milliseconds. */
  now: () => number;
  /** The n-th consecutive dial of a node failed. */
  onFailure: (name: string, failures: number) => void;
};
export type RetryPolicy = {
  /** Consecutive dials before the node is dropped; default: unlimited. */
  tries?: number;
  /** Maximum delay between two dials in milliseconds. */
  longest?: number;
};

type Wanted = Required<RetryPolicy> & { failures: number; dialling: boolean; connectedAt: number; timer: Timer | undefined };

export class Redialer {
  readonly #options: RedialerOptions;
  readonly #wanted = new Map<string, Wanted>();

  constructor(options: RedialerOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#wanted.size;
  }

  has(name: string): boolean {
    return this.#wanted.has(name);
  }

  names(): string[] {
    return [...this.#wanted.keys()];
  }

  /** True if the first dial of a target is in progress. */
  get dialing(): boolean {
    return [...this.#wanted.values()].some(
      ({ dialling, failures, connectedAt }) => dialling && failures === 0 && connectedAt === Number.NEGATIVE_INFINITY,
    );
  }

  /** Dials a node immediately, unless it is connected or a dial is scheduled. */
  addTarget(name: string, retryPolicy: RetryPolicy = {}): void {
    const requested = { tries: Number.POSITIVE_INFINITY, longest: maxBackoffMs, ...retryPolicy };
    const known = this.#wanted.get(name);
    const wanted = known ?? { ...requested, failures: 0, dialling: false, connectedAt: Number.NEGATIVE_INFINITY, timer: undefined };
    if (known) Object.assign(known, requested);
    else this.#wanted.set(name, wanted);
    if (!wanted.timer) this.#dial(name, wanted);
  }

  /** Stops dialing a node. A connection stays open. */
  forget(name: string): void {
    this.#wanted.get(name)?.timer?.stop();
    this.#wanted.delete(name);
  }

  /** The connection to a node was lost. It is redialed immediately if it is a target and has not reconnected. */
  down(name: string): void {
    const wanted = this.#wanted.get(name);
    if (!wanted || this.#connected(name)) return;
    const lived = this.#options.now() - wanted.connectedAt;
    wanted.connectedAt = Number.NEGATIVE_INFINITY;
    if (lived < stableLifetime) {
      if (!wanted.dialling) this.#failed(name, wanted);
      return;
    }
    wanted.failures = 0;
    wanted.timer?.stop();
    wanted.timer = undefined;
    this.#dial(name, wanted);
  }

  close(): void {
    for (const { timer } of this.#wanted.values()) timer?.stop();
    this.#wanted.clear();
  }

  #dial(name: string, wanted: Wanted): void {
    if (wanted.dialling || this.#connected(name)) return;
    wanted.dialling = true;
    void this.#options.pool.dial(name, wanted.failures > 0).then(() => {
      wanted.dialling = false;
      if (this.#wanted.get(name) !== wanted) return;
      if (!this.#connected(name)) this.#failed(name, wanted);
      else wanted.connectedAt = this.#options.now();
    });
  }

  #failed(name: string, wanted: Wanted): void {
    wanted.failures += 1;
    this.#options.onFailure(name, wanted.failures);
    if (wanted.failures >= wanted.tries) {
      this.forget(name);
      return;
    }
    wanted.timer?.stop();
    wanted.timer = new Timer(backoffDelay(wanted.failures, wanted.longest, this.#options.random()), () => {
      wanted.timer = undefined;
      this.#dial(name, wanted);
    });
  }

  #connected(name: string): boolean {
    return this.#options.connector.nodes().includes(name);
  }
}
