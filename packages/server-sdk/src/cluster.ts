// Cluster and webhooks: nodes, health, drain, and the state of webhook deliveries.
import type { Access, DeadLetter, DrainView, Health, Node, NodeConfig, WebhookReplay, WebhookStatus } from './generated/schemas.ts';
import type { RequestOptions } from './options.ts';
import type { Transport } from './transport.ts';

export class Cluster {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * All connected nodes with state and load, including the responding node. `load` is null if a node did not respond in time.
   * @throws MediaroomsError
   */
  async nodes(options?: RequestOptions): Promise<Node[]> {
    return (await this.#transport.call('listNodes', {}, options)).data;
  }

  /** Health of the responding node. @throws MediaroomsError */
  async health(options?: RequestOptions): Promise<Health> {
    return (await this.#transport.call('getHealth', {}, options)).data;
  }

  /**
   * The effective configuration of the named node, by default of the responding node. Secrets are shown as `***`.
   * @throws MediaroomsError `not_found`, `node_unreachable`
   */
  async config(node?: string, options?: RequestOptions): Promise<NodeConfig> {
    return this.#transport.call('getConfig', { query: node === undefined ? {} : { node } }, options);
  }

  /** The scope of the token of this client. @throws MediaroomsError */
  async access(options?: RequestOptions): Promise<Access> {
    return (await this.#transport.call('getAccess', {}, options)).data;
  }

  /** The rooms and peers that a drain of the node affects, or would affect. @throws MediaroomsError `not_found`, `node_unreachable` */
  async getDrain(nodeName: string, options?: RequestOptions): Promise<DrainView> {
    return (await this.#transport.call('getDrain', { path: { nodeName } }, options)).data;
  }

  /**
   * Drains a node: it rejects new rooms; rooms without connected peers end at once, the others when they end or after `deadline` seconds
   * (default: SVC_DRAIN_TIMEOUT).
   * @throws MediaroomsError `not_found`, `terminating`, `node_unreachable`
   */
  async drain(nodeName: string, drain: { deadline?: number } = {}, options?: RequestOptions): Promise<void> {
    await this.#transport.call('drainNode', { path: { nodeName }, body: drain }, options);
  }

  /** Cancels a drain: the node accepts rooms again. @throws MediaroomsError `not_found`, `terminating`, `node_unreachable` */
  async cancelDrain(nodeName: string, options?: RequestOptions): Promise<void> {
    await this.#transport.call('cancelDrain', { path: { nodeName } }, options);
  }
}

/** Webhook deliveries of the cluster. `incomplete` lists nodes that did not respond in time. */
export class Webhooks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Delivery counters of each node, and its receivers with pending deliveries. @throws MediaroomsError */
  async status(options?: RequestOptions): Promise<{ nodes: WebhookStatus[]; incomplete: string[] }> {
    const { data, incomplete } = await this.#transport.call('getWebhooks', {}, options);
    return { nodes: data, incomplete };
  }

  /** Deliveries that failed permanently, newest first. @throws MediaroomsError */
  async deadLetters(
    { roomId, limit }: { roomId?: string; limit?: number } = {},
    options?: RequestOptions,
  ): Promise<{ letters: DeadLetter[]; incomplete: string[] }> {
    const query = { ...(roomId !== undefined && { roomId }), ...(limit !== undefined && { limit: String(limit) }) };
    const { data, incomplete } = await this.#transport.call('listDeadLetters', { query }, options);
    return { letters: data, incomplete };
  }

  /**
   * Delivers dead letters again: those that match all given fields, by default all. Not retried if its response was lost.
   * @throws MediaroomsError
   */
  async replay(which: WebhookReplay = {}, options?: RequestOptions): Promise<{ replayed: number; incomplete: string[] }> {
    const { data, incomplete } = await this.#transport.call('replayDeadLetters', { body: which }, options);
    return { replayed: data.replayed, incomplete };
  }
}
