// Failure detector: probes idle nodes before requests are proxied to them, because the distribution notices a lost node only after a tick.
import { setImmediate as turn } from 'node:timers/promises';
import type { NodeName } from './cluster-transport.ts';

/** All times in milliseconds. */
export type FailureDetectorTimings = {
  /** A node that sent data within this time is not probed. */
  trusted: number;
  /** Minimum probe timeout. */
  answer: number;
  /** Minimum silence before a node is lost. */
  silence: number;
};
const failureDetectorTimings: FailureDetectorTimings = { trusted: 5_000, answer: 2_000, silence: 10_000 };

export type FailureDetectorOptions = {
  /** Milliseconds since the last data from a node; undefined if it is not connected. */
  silence: (node: NodeName) => number | undefined;
  /** Sends any request; settles with the response or after the timeout in milliseconds. */
  ask: (node: NodeName, deadline: number) => Promise<unknown>;
  /** The node is suspect: notifies the other nodes, which probe it too, so that all nodes have the same view of the cluster. */
  tell: (node: NodeName) => void;
  /** The node is lost. */
  lost: (node: NodeName) => void;
  times?: FailureDetectorTimings;
};

export class FailureDetector {
  readonly #options: FailureDetectorOptions;
  readonly #times: FailureDetectorTimings;
  readonly #asked = new Set<NodeName>();

  constructor(options: FailureDetectorOptions) {
    this.#options = options;
    this.#times = options.times ?? failureDetectorTimings;
  }

  /** Probes the node if needed. Returns immediately. */
  probe(node: NodeName): void {
    const silence = this.#options.silence(node);
    if (silence === undefined || silence < this.#times.trusted || this.#asked.has(node)) return;
    this.#asked.add(node);
    void this.#check(node).finally(() => this.#asked.delete(node));
  }

  async #check(node: NodeName): Promise<void> {
    const { silence, tell, lost } = this.#options;
    const half = this.#times.answer / 2;
    const began = performance.now();
    if (await this.#answers(node, half, began)) return;
    tell(node);
    if (!(await this.#answers(node, Math.max(half, this.#times.silence - (silence(node) ?? 0)), began))) lost(node);
  }

  /** Any received byte is a response. A closed connection needs no further probe. */
  async #answers(node: NodeName, deadline: number, began: number): Promise<boolean> {
    await this.#options.ask(node, deadline).catch(() => {});
    // If this process was paused, data that arrived meanwhile is read after the timers.
    await turn();
    const silence = this.#options.silence(node);
    return silence === undefined || silence < performance.now() - began;
  }
}
