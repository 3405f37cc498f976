// The load of all nodes, asked for when a room is placed: requests at the same time share one round, and what was assigned since counts.
import { z } from 'zod';
import type { Links, NodeName } from './links.ts';
import type { Candidate, NodeLoad } from './placement.ts';

/** A node that does not answer in this time is not chosen, and not asked again for a while. Milliseconds. */
const answerDeadline = 1_000;
const silencePause = 5_000;

export const loadAnswerSchema = z.object({
  forwardedTracks: z.number().min(0),
  rooms: z.number().min(0),
  cpu: z.number().min(0),
  accepting: z.boolean(),
  /** Rooms that the node is making elsewhere now, by where: who asks several nodes at once must not take them for free places. */
  assigned: z.record(z.string().max(512), z.int().min(0)),
});
export type LoadAnswer = z.infer<typeof loadAnswerSchema>;
type Answered = { node: NodeName; answer: LoadAnswer | undefined };

type Assignment = { node: NodeName; doneAt: number };

export class LoadPoll {
  readonly #links: Links;
  readonly #own: () => NodeLoad;
  readonly #now: () => number;
  readonly #silentUntil = new Map<NodeName, number>();
  readonly #assignments = new Set<Assignment>();
  readonly #choosers = new Set<{ startedAt: number }>();
  #round: Promise<Answered[]> | undefined;
  #roundStartedAt = 0;

  constructor(options: { links: Links; own: () => NodeLoad; now?: () => number }) {
    this.#links = options.links;
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
    const chooser = { startedAt: this.#roundStartedAt };
    this.#choosers.add(chooser);
    try {
      const answers = await this.#round;
      const pending = this.#pendingSince(chooser.startedAt);
      const elsewhere = (node: NodeName) => answers.reduce((sum, { answer }) => sum + (answer?.assigned[node] ?? 0), 0);
      return choose(answers.map(({ node, answer }) => ({ node, load: answer, pending: (pending.get(node) ?? 0) + elsewhere(node) })));
    } finally {
      this.#choosers.delete(chooser);
    }
  }

  /** A room goes there. The answer is called when it is made or refused. */
  assign(node: NodeName): () => void {
    const assignment: Assignment = { node, doneAt: Number.POSITIVE_INFINITY };
    this.#assignments.add(assignment);
    return () => {
      assignment.doneAt = this.#now();
      this.#forget();
    };
  }

  /** What this node answers when it is asked. */
  answer(): LoadAnswer {
    const assigned = Object.fromEntries(this.#pendingSince(Number.MAX_VALUE));
    return { ...this.#own(), assigned };
  }

  /** Rooms that a node cannot have counted when it was asked then. */
  #pendingSince(time: number): Map<NodeName, number> {
    const counts = new Map<NodeName, number>();
    for (const { node, doneAt } of this.#assignments) if (doneAt > time) counts.set(node, (counts.get(node) ?? 0) + 1);
    return counts;
  }

  async #ask(): Promise<Answered[]> {
    this.#roundStartedAt = this.#now();
    const asked = this.#links.nodes().map(async (node): Promise<Answered> => ({ node, answer: await this.#askNode(node) }));
    // This node's own answer is from the same moment as the others': before anything of this round was assigned.
    return [{ node: this.#links.self, answer: { ...this.#own(), assigned: {} } }, ...(await Promise.all(asked))];
  }

  async #askNode(node: NodeName): Promise<LoadAnswer | undefined> {
    if ((this.#silentUntil.get(node) ?? 0) > this.#now()) return undefined;
    try {
      const answer = loadAnswerSchema.parse(await this.#links.call(node, 'load', null, answerDeadline));
      this.#silentUntil.delete(node);
      return answer;
    } catch {
      this.#silentUntil.set(node, this.#now() + silencePause);
      return undefined;
    }
  }

  /** What was done before the oldest round that somebody still chooses from is in its answers. */
  #forget(): void {
    const [oldest] = this.#choosers;
    const since = oldest?.startedAt ?? this.#now();
    for (const assignment of this.#assignments) if (assignment.doneAt <= since) this.#assignments.delete(assignment);
  }
}
