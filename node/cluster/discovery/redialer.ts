// Nodes that are wanted: dialled until they are connected, with back-off, and again when their connection goes down.
import { Timer } from '../../common/timer.ts';
import type { Connector } from './connector.ts';
import type { DialPool } from './dial-pool.ts';

const first = 500;
const maxBackoffMs = 30_000;
/** A connection that lived less than this, in milliseconds, was none: two nodes that throw each other out must not spin. */
const soundLifetime = 5_000;

/**
 * Milliseconds to wait after so many failures in a row: 500, doubling, of which up to a half is taken off by chance, so that nodes
 * that lost the same one do not come back in step.
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
  /** Milliseconds on a clock that never goes back. */
  now: () => number;
  /** A dial failed, the n-th in a row. */
  onFailure: (name: string, failures: number) => void;
};
export type RetryPolicy = {
  /** Dials in a row before the node is given up and forgotten; default: endless. */
  tries?: number;
  /** Longest wait between two dials, in milliseconds. */
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

  /** Whether the first dial of one of them is under way. */
  get dialing(): boolean {
    return [...this.#wanted.values()].some(
      ({ dialling, failures, connectedAt }) => dialling && failures === 0 && connectedAt === Number.NEGATIVE_INFINITY,
    );
  }

  /** Dials a node now, unless it is connected or waited for. */
  addTarget(name: string, retryPolicy: RetryPolicy = {}): void {
    const wished = { tries: Number.POSITIVE_INFINITY, longest: maxBackoffMs, ...retryPolicy };
    const known = this.#wanted.get(name);
    const wanted = known ?? { ...wished, failures: 0, dialling: false, connectedAt: Number.NEGATIVE_INFINITY, timer: undefined };
    if (known) Object.assign(known, wished);
    else this.#wanted.set(name, wanted);
    if (!wanted.timer) this.#dial(name, wanted);
  }

  /** No more dials; a connection stays. */
  forget(name: string): void {
    this.#wanted.get(name)?.timer?.stop();
    this.#wanted.delete(name);
  }

  /** The connection to a node is gone: it is dialled at once, if it is wanted and did not connect anew by itself. */
  down(name: string): void {
    const wanted = this.#wanted.get(name);
    if (!wanted || this.#connected(name)) return;
    const lived = this.#options.now() - wanted.connectedAt;
    wanted.connectedAt = Number.NEGATIVE_INFINITY;
    if (lived < soundLifetime) {
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
