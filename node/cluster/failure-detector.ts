// Nodes that have been silent for long are asked for a sign of life when they are needed, so that nobody waits a whole tick for one that is gone.
import { setImmediate as turn } from 'node:timers/promises';
import type { NodeName } from './cluster-transport.ts';

/** Milliseconds. */
export type FailureDetectorTimings = {
  /** A node that said something so lately is not asked. */
  trusted: number;
  /** So long it is asked at least. */
  answer: number;
  /** It is lost after so long a silence, not sooner. */
  silence: number;
};
export const failureDetectorTimings: FailureDetectorTimings = { trusted: 5_000, answer: 2_000, silence: 10_000 };

export type FailureDetectorOptions = {
  /** Milliseconds since anything came from a node; undefined where it is not connected. */
  silence: (node: NodeName) => number | undefined;
  /** Asks it for anything; settles with its answer or after the deadline, in milliseconds. */
  ask: (node: NodeName, deadline: number) => Promise<unknown>;
  /** It has not answered so far: whoever else is connected to it looks, too, since all should see the same cluster. */
  tell: (node: NodeName) => void;
  /** It is to be taken for lost. */
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

  /** Something is to go to this node. Returns at once. */
  probe(node: NodeName): void {
    const silence = this.#options.silence(node);
    if (silence === undefined || silence < this.#times.trusted || this.#asked.has(node)) return;
    this.#asked.add(node);
    void this.#look(node).finally(() => this.#asked.delete(node));
  }

  async #look(node: NodeName): Promise<void> {
    const { silence, tell, lost } = this.#options;
    const half = this.#times.answer / 2;
    const began = performance.now();
    if (await this.#answers(node, half, began)) return;
    tell(node);
    if (!(await this.#answers(node, Math.max(half, this.#times.silence - (silence(node) ?? 0)), began))) lost(node);
  }

  /** Any byte is an answer, and a connection that is gone needs none. */
  async #answers(node: NodeName, deadline: number, began: number): Promise<boolean> {
    await this.#options.ask(node, deadline).catch(() => {});
    // Where this process stood still, what came meanwhile is read after the timers.
    await turn();
    const silence = this.#options.silence(node);
    return silence === undefined || silence < performance.now() - began;
  }
}
