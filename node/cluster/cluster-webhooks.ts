// Cluster webhooks: lists pending deliveries and dead letters of all nodes, and hands them over when a node shuts down.
import { z } from 'zod';
import { ServiceError } from '../../api/errors.ts';
import {
  type DeadLetterView,
  deadLetterSchema,
  type NodeDeadLetter,
  type NodeWebhookStatus,
  replaySchema,
  type WebhookReplay,
  webhookStatusSchema,
} from '../../api/webhook.ts';
import type { Log } from '../common/log.ts';
import type { LocalWebhookService, WebhookAdmin } from '../rooms/services/webhook-admin.ts';
import type { ClusterTransport, NodeName } from './cluster-transport.ts';
import type { Member } from './membership.ts';

/** RPC timeout in milliseconds. */
const listTimeoutMs = 2_000;
const replayTimeoutMs = 10_000;
const handoverTimeoutMs = 2_000;
/** Maximum size of the dead letters in one RPC response. */
const maxLetterBytes = 4 * 1024 * 1024;

const askSchema = z.object({ filter: replaySchema, limit: z.number().int().min(1).max(999) });

export type ClusterWebhooksOptions = {
  links: ClusterTransport;
  log: Log;
  own: LocalWebhookService;
  /** Accepts deliveries of a node that shuts down. @returns the number of accepted deliveries */
  take: (data: unknown) => number;
  member: (node: NodeName) => Member | undefined;
};

type Answers<T> = { answers: { node: NodeName; answer: T }[]; incomplete: NodeName[] };

export class ClusterWebhooks implements WebhookAdmin {
  readonly #options: ClusterWebhooksOptions;
  /** Nodes that accepted no deliveries during this shutdown. */
  readonly #unwilling = new Set<NodeName>();

  constructor(options: ClusterWebhooksOptions) {
    this.#options = options;
  }

  async status(): Promise<{ nodes: NodeWebhookStatus[]; incomplete: string[] }> {
    const own = () => this.#options.own.status();
    const { answers, incomplete } = await this.#askAll('webhookStatus', null, listTimeoutMs, webhookStatusSchema, own);
    const nodes = answers.map(({ node, answer }) => ({ node, ...answer }));
    return { nodes: nodes.sort((a, b) => (a.node < b.node ? -1 : 1)), incomplete };
  }

  async deadLetters(filter: WebhookReplay, limit: number): Promise<{ letters: NodeDeadLetter[]; incomplete: string[] }> {
    const own = () => this.#options.own.deadLetters(filter, limit);
    const schema = z.array(deadLetterSchema).max(limit);
    const { answers, incomplete } = await this.#askAll('deadLetters', { filter, limit }, listTimeoutMs, schema, own);
    const letters = answers.flatMap(({ node, answer }) => answer.map((letter) => ({ node, ...letter })));
    // The sort is stable: dead letters of one node with equal times keep their order.
    letters.sort((a, b) => Date.parse(b.givenUpAt) - Date.parse(a.givenUpAt));
    return { letters: letters.slice(0, limit), incomplete };
  }

  async replay(filter: WebhookReplay): Promise<{ replayed: number; incomplete: string[] }> {
    const own = () => this.#options.own.replay(filter);
    const { answers, incomplete } = await this.#askAll('replayDeadLetters', filter, replayTimeoutMs, z.number().int(), own);
    return { replayed: answers.reduce((sum, { answer }) => sum + answer, 0), incomplete };
  }

  /**
   * Hands deliveries over to an active node, and to the next one if a node rejects them or does not respond. @throws ServiceError if no
   * node accepts them.
   */
  async handOver(batch: unknown): Promise<void> {
    const { links, member, log } = this.#options;
    for (const node of links.nodes()) {
      if (member(node)?.state !== 'accepting' || this.#unwilling.has(node)) continue;
      try {
        await links.call(node, 'webhooks', batch, handoverTimeoutMs);
        return;
      } catch (error) {
        this.#unwilling.add(node);
        log.info({ node, err: error }, 'node did not accept webhooks');
      }
    }
    throw new ServiceError('unavailable', 'No other node accepts webhooks');
  }

  /** Handles a request of another node. @returns undefined if the method is not handled here. */
  answer(method: string, data: unknown): Promise<unknown> | undefined {
    switch (method) {
      case 'webhooks':
      case 'webhookStatus':
      case 'deadLetters':
      case 'replayDeadLetters':
        return this.#answer(method, data);
      default:
        return undefined;
    }
  }

  async #answer(method: 'webhooks' | 'webhookStatus' | 'deadLetters' | 'replayDeadLetters', data: unknown): Promise<unknown> {
    const { own, take } = this.#options;
    if (method === 'webhooks') return take(data);
    if (method === 'webhookStatus') return own.status();
    if (method === 'replayDeadLetters') return own.replay(replaySchema.parse(data));
    const { filter, limit } = askSchema.parse(data);
    return withinBytes(own.deadLetters(filter, limit));
  }

  async #askAll<T>(method: string, data: unknown, deadline: number, schema: z.ZodType<T>, own: () => T): Promise<Answers<T>> {
    const { links, log } = this.#options;
    const incomplete: NodeName[] = [];
    const others = links.nodes().map(async (node) => {
      try {
        return [{ node, answer: schema.parse(await links.call(node, method, data, deadline)) }];
      } catch (error) {
        log.info({ node, err: error }, 'could not list webhooks of remote node');
        incomplete.push(node);
        return [];
      }
    });
    const answers = [{ node: links.self, answer: own() }, ...(await Promise.all(others)).flat()];
    return { answers, incomplete: incomplete.sort() };
  }
}

/** The first letters, up to the size limit of a response. */
function withinBytes(letters: readonly DeadLetterView[]): DeadLetterView[] {
  let bytes = 0;
  const end = letters.findIndex((letter) => {
    bytes += JSON.stringify(letter).length;
    return bytes > maxLetterBytes;
  });
  return letters.slice(0, end < 0 ? letters.length : end);
}
