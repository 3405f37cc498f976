// Webhooks: the state of deliveries, dead letters and their redelivery. The SDK names the parts of each response.
import type { DeadLetter, WebhookReplay, WebhookStatus } from './generated/schemas.ts';
import type { RequestOptions } from './options.ts';
import type { Transport } from './transport.ts';

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
