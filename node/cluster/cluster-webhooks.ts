// Cluster webhooks: lists pending deliveries and dead letters of all nodes, and hands them over when a node shuts down.
import type { InputOf, ResultOf, Rpc } from '../../api/core/operation.ts';
import { ServiceError } from '../../api/errors.ts';
import { nodeRpcs } from '../../api/operations/node-rpcs.ts';
import { operations } from '../../api/operations/table.ts';
import type { DeadLetterView } from '../../api/webhook.ts';
import type { Log } from '../common/log.ts';
import type { LocalWebhookService } from '../rooms/services/webhook-admin.ts';
import type { NodeName } from './cluster-transport.ts';
import type { Nodes } from './nodes.ts';
import type { Dispatcher } from './rpc/dispatcher.ts';

/** Maximum size of the dead letters in one RPC response. */
const maxLetterBytes = 4 * 1024 * 1024;
/** Dead letters in a list if the client sets no limit. */
const defaultLimit = 100;

export type ClusterWebhooksOptions = { dispatcher: Dispatcher; log: Log; own: LocalWebhookService };

type Collected<Result> = { results: { node: NodeName; result: Result }[]; incomplete: NodeName[] };

export function serveWebhooks({ dispatcher, log, own }: ClusterWebhooksOptions): void {
  const collect = async <R extends Rpc>(rpc: R, input: InputOf<R>): Promise<Collected<ResultOf<R>>> => {
    const results: Collected<ResultOf<R>>['results'] = [];
    const incomplete: NodeName[] = [];
    for (const each of await dispatcher.everywhere(rpc, input)) {
      if ('result' in each) results.push(each);
      else {
        log.info({ node: each.node, err: each.error }, 'could not list webhooks of remote node');
        incomplete.push(each.node);
      }
    }
    return { results, incomplete: incomplete.sort() };
  };
  dispatcher.serve(operations, {
    getWebhooks: async () => {
      const { results, incomplete } = await collect(nodeRpcs.webhookStatus, null);
      const data = results.map(({ node, result }) => ({ node, ...result })).sort((a, b) => (a.node < b.node ? -1 : 1));
      return { data, incomplete };
    },
    listDeadLetters: async ({ query: { roomId, limit = defaultLimit } }) => {
      const { results, incomplete } = await collect(nodeRpcs.deadLetters, { filter: { roomId }, limit });
      const data = results.flatMap(({ node, result }) => result.map((letter) => ({ node, ...letter })));
      // The sort is stable: dead letters of one node with equal times keep their order.
      data.sort((a, b) => Date.parse(b.givenUpAt) - Date.parse(a.givenUpAt));
      return { data: data.slice(0, limit), incomplete };
    },
    replayDeadLetters: async ({ body }) => {
      const { results, incomplete } = await collect(nodeRpcs.replayDeadLetters, body);
      return { data: { replayed: results.reduce((sum, { result }) => sum + result, 0) }, incomplete };
    },
  });
  dispatcher.serve(nodeRpcs, {
    webhooks: (batch) => own.take(batch),
    webhookStatus: () => own.status(),
    deadLetters: ({ filter, limit }) => withinBytes(own.deadLetters(filter, limit)),
    replayDeadLetters: (filter) => own.replay(filter),
  });
}

/** Hands the webhooks of this node over to the others when it shuts down. */
export class WebhookHandover {
  readonly #nodes: Pick<Nodes, 'links' | 'dispatcher' | 'members'>;
  readonly #log: Log;
  /** Nodes that accepted no deliveries during this shutdown. */
  readonly #unwilling = new Set<NodeName>();

  constructor(nodes: Pick<Nodes, 'links' | 'dispatcher' | 'members'>, log: Log) {
    this.#nodes = nodes;
    this.#log = log;
  }

  /** True if there is another node. */
  get possible(): boolean {
    return this.#nodes.links.nodes().length > 0;
  }

  /**
   * Hands deliveries over to an active node, and to the next one if a node rejects them or does not respond. @throws ServiceError if no
   * node accepts them.
   */
  async handOver(batch: unknown): Promise<void> {
    const { links, dispatcher, members } = this.#nodes;
    for (const node of links.nodes()) {
      if (members.get(node)?.state !== 'accepting' || this.#unwilling.has(node)) continue;
      try {
        await dispatcher.at(node, nodeRpcs.webhooks, batch);
        return;
      } catch (error) {
        this.#unwilling.add(node);
        this.#log.info({ node, err: error }, 'node did not accept webhooks');
      }
    }
    throw new ServiceError('unavailable', 'No other node accepts webhooks');
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
