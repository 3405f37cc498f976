// Load poll: collects the load of all nodes for placement. Concurrent requests share one round, and rooms in transit count.
import { type LoadResponse, nodeRpcs } from '../../api/operations/node-rpcs.ts';
import type { ClusterTransport, NodeName } from './cluster-transport.ts';
import type { Candidate, NodeLoad } from './placement.ts';
import type { Dispatcher } from './rpc/dispatcher.ts';

/** A node that does not respond in time is not chosen and is not polled again for a while. Milliseconds. */
const silencePause = 5_000;

type Answered = { node: NodeName; answer: LoadResponse | undefined };

export class LoadPoll {
  readonly #clusterTransport: ClusterTransport;
  readonly #dispatcher: Pick<Dispatcher, 'at'>;
  readonly #own: () => NodeLoad;
  readonly #now: () => number;
  readonly #silentUntil = new Map<NodeName, number>();
  readonly #sent = new Map<NodeName, number>();
  readonly #received = new Map<NodeName, number>();
  #round: Promise<Answered[]> | undefined;

  constructor(options: { links: ClusterTransport; dispatcher: Pick<Dispatcher, 'at'>; own: () => NodeLoad; now?: () => number }) {
    this.#clusterTransport = options.links;
    this.#dispatcher = options.dispatcher;
    this.#own = options.own;
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Passes all connected nodes and this one to `choose`, which must assign synchronously: many requests share one round, and each must see
   * the assignments of the others.
   */
  async choose<T>(choose: (candidates: Candidate[]) => T): Promise<T> {
    this.#round ??= this.#ask().finally(() => {
      this.#round = undefined;
    });
    const answers = await this.#round;
    return choose(answers.map(({ node, answer }) => ({ node, load: answer, pending: answer ? this.#onTheWay(node, answer, answers) : 0 })));
  }

  /** A room is sent to the node. */
  assign(node: NodeName): void {
    if (node === this.#clusterTransport.self || this.#clusterTransport.nodes().includes(node)) increment(this.#sent, node);
  }

  /** A room will be created here. Call it in the turn of the request, before the first await. */
  received(from: NodeName): void {
    increment(this.#received, from);
  }

  /** The connection was lost, and rooms in transit with it. Both nodes reset their counters. */
  nodeDown(node: NodeName): void {
    this.#sent.delete(node);
    this.#received.delete(node);
  }

  /** Response to a poll of another node. */
  answer(): LoadResponse {
    return { ...this.#own(), sent: Object.fromEntries(this.#sent), received: Object.fromEntries(this.#received) };
  }

  /**
   * Rooms that were sent to a node and that its response does not count yet. Messages between two nodes keep their order, so the number is
   * exact.
   */
  #onTheWay(node: NodeName, { received }: LoadResponse, answers: readonly Answered[]): number {
    const { self } = this.#clusterTransport;
    let rooms = 0;
    for (const { node: sender, answer } of answers) {
      const sent = sender === self ? this.#sent.get(node) : answer?.sent[node];
      rooms += Math.max(0, (sent ?? 0) - (received[sender] ?? 0));
    }
    return rooms;
  }

  async #ask(): Promise<Answered[]> {
    const own = { node: this.#clusterTransport.self, answer: this.answer() };
    const asked = this.#clusterTransport.nodes().map(async (node): Promise<Answered> => ({ node, answer: await this.#askNode(node) }));
    return [own, ...(await Promise.all(asked))];
  }

  async #askNode(node: NodeName): Promise<LoadResponse | undefined> {
    if ((this.#silentUntil.get(node) ?? 0) > this.#now()) return undefined;
    try {
      const answer = await this.#dispatcher.at(node, nodeRpcs.load, null);
      this.#silentUntil.delete(node);
      return answer;
    } catch {
      this.#silentUntil.set(node, this.#now() + silencePause);
      return undefined;
    }
  }
}

function increment(counted: Map<NodeName, number>, node: NodeName): void {
  counted.set(node, (counted.get(node) ?? 0) + 1);
}
