// Webhook administration: of one node, and of the cluster.
import type { DeadLetterView, NodeDeadLetter, NodeWebhookStatus, WebhookReplay, WebhookStatus } from '../../../api/webhook.ts';

/** Webhooks of this node. */
export interface LocalWebhookService {
  status(): WebhookStatus;
  /** The newest `limit`, newest first. */
  deadLetters(filter: WebhookReplay, limit: number): DeadLetterView[];
  /** @returns the number of deliveries that are retried */
  replay(filter: WebhookReplay): number;
}

/** Webhooks of this node and all connected nodes. `incomplete` lists nodes that did not respond. */
export interface WebhookAdmin {
  status(): Promise<{ nodes: NodeWebhookStatus[]; incomplete: string[] }>;
  deadLetters(filter: WebhookReplay, limit: number): Promise<{ letters: NodeDeadLetter[]; incomplete: string[] }>;
  replay(filter: WebhookReplay): Promise<{ replayed: number; incomplete: string[] }>;
}
