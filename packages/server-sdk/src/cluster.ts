// The nodes of the cluster, their health, and what became of webhooks.
import type { Access, DeadLetter, DrainView, Health, Node, NodeConfig, WebhookReplay, WebhookStatus } from './generated/schemas.ts';
import type { RequestOptions } from './options.ts';
import type { Transport } from './transport.ts';

export class Cluster {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Connected nodes with state and load, the one that answers included. */
  async nodes(options?: RequestOptions): Promise<Node[]> {
    return (await this.#transport.call('listNodes', {}, options)).data;
  }

  /** Of the node that answers. */
  async health(options?: RequestOptions): Promise<Health> {
    return (await this.#transport.call('getHealth', {}, options)).data;
  }

  /** The configuration in force of the node that answers, or of the one that is named; without secrets. */
  async config(node?: string, options?: RequestOptions): Promise<NodeConfig> {
    return this.#transport.call('getConfig', { query: node === undefined ? {} : { node } }, options);
  }

  /** What the token of this client may do. */
  async access(options?: RequestOptions): Promise<Access> {
    return (await this.#transport.call('getAccess', {}, options)).data;
  }

  /** Whom a drain of the node concerns, or would. */
  async getDrain(nodeName: string, options?: RequestOptions): Promise<DrainView> {
    return (await this.#transport.call('getDrain', { path: { nodeName } }, options)).data;
  }

  /** No new rooms; those without connected peers end at once, the others at their end or after `deadline` seconds. */
  async drain(nodeName: string, drain: { deadline?: number } = {}, options?: RequestOptions): Promise<void> {
    await this.#transport.call('drainNode', { path: { nodeName }, body: drain }, options);
  }

  /** It takes rooms again. */
  async cancelDrain(nodeName: string, options?: RequestOptions): Promise<void> {
    await this.#transport.call('cancelDrain', { path: { nodeName } }, options);
  }
}

/** `incomplete`: nodes that did not answer in time. */
export class Webhooks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** How far the webhooks of each node are, and which receivers are behind. */
  async status(options?: RequestOptions): Promise<{ nodes: WebhookStatus[]; incomplete: string[] }> {
    const { data, incomplete } = await this.#transport.call('getWebhooks', {}, options);
    return { nodes: data, incomplete };
  }

  /** Deliveries that were given up, the newest first. */
  async deadLetters(
    { roomId, limit }: { roomId?: string; limit?: number } = {},
    options?: RequestOptions,
  ): Promise<{ letters: DeadLetter[]; incomplete: string[] }> {
    const query = { ...(roomId !== undefined && { roomId }), ...(limit !== undefined && { limit: String(limit) }) };
    const { data, incomplete } = await this.#transport.call('listDeadLetters', { query }, options);
    return { letters: data, incomplete };
  }

  /** Sends dead letters again, all of them where nothing is said. Not repeated where its answer was lost. */
  async replay(which: WebhookReplay = {}, options?: RequestOptions): Promise<{ replayed: number; incomplete: string[] }> {
    const { data, incomplete } = await this.#transport.call('replayDeadLetters', { body: which }, options);
    return { replayed: data.replayed, incomplete };
  }
}
