// The load of all nodes, asked for when a room is placed: requests at the same time share one round, and what is on its way to a node counts.
import { z } from 'zod';
import type { ClusterTransport, NodeName } from './cluster-transport.ts';
import type { Candidate, NodeLoad } from './placement.ts';

/** A node that does not answer in this time is not chosen, and not asked again for a while. Milliseconds. */
const responseTimeoutMs = 1_000;
const silencePause = 5_000;

const counts = z.record(z.string().max(512), z.int().min(0));

export const loadResponseSchema = z.object({
  forwardedTracks: z.number().min(0),
  rooms: z.number().min(0),
  cpu: z.number().min(0),
  accepting: z.boolean(),
  /** Rooms that this node gave others to make, by where, since it is connected to them. */
  sent: counts,
  /** Rooms that others gave this node to make, by whom: what they sent beyond that is on its way and not among `rooms`. */
  received: counts,
});
export type LoadResponse = z.infer<typeof loadResponseSchema>;
type Answered = { node: NodeName; answer: LoadResponse | undefined };

export class LoadPoll {
  readonly #clusterTransport: ClusterTransport;
  readonly #own: () => NodeLoad;
  readonly #now: () => number;
  readonly #silentUntil = new Map<NodeName, number>();
  readonly #sent = new Map<NodeName, number>();
  readonly #received = new Map<NodeName, number>();
  #round: Promise<Answered[]> | undefined;

  constructor(options: { links: ClusterTransport; own: () => NodeLoad; now?: () => number }) {
    this.#clusterTransport = options.links;
    this.#own = options.own;
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Gives every connected node and this one to `choose`, which must assign at once: many requests wait for one round, and each
   * must see what the others took.
   */
  async choose<T>(choose: (candidates: Candidate[]) => T): Promise<T> {
    this.#round ??= this.#ask().finally(() => {
      this.#round = undefined;
    });
    const answers = await this.#round;
    return choose(answers.map(({ node, answer }) => ({ node, load: answer, pending: answer ? this.#onTheWay(node, answer, answers) : 0 })));
  }

  /** A room goes there now. */
  assign(node: NodeName): void {
    if (node === this.#clusterTransport.self || this.#clusterTransport.nodes().includes(node)) increment(this.#sent, node);
  }

  /** A room is to be made here. To be called in the turn in which the request came, before anything is waited for. */
  received(from: NodeName): void {
    increment(this.#received, from);
  }

  /** The connection is gone, and with it what was on its way: both sides begin anew. */
  nodeDown(node: NodeName): void {
    this.#sent.delete(node);
    this.#received.delete(node);
  }

  /** What this node answers when it is asked. */
  answer(): LoadResponse {
    return { ...this.#own(), sent: Object.fromEntries(this.#sent), received: Object.fromEntries(this.#received) };
  }

  /**
   * Rooms that somebody gave a node and that it had not got when it answered. Messages between two nodes keep their order, so this is
   * neither more nor less than what its answer does not count.
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
      const answer = loadResponseSchema.parse(await this.#clusterTransport.call(node, 'load', null, responseTimeoutMs));
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
