// Webhooks of this node, as the cluster uses them.
import type { DeadLetterView, WebhookReplay, WebhookStatus } from '../../../api/webhook.ts';

export interface LocalWebhookService {
  status(): WebhookStatus;
  /** The newest `limit`, newest first. */
  deadLetters(filter: WebhookReplay, limit: number): DeadLetterView[];
  /** @returns the number of deliveries that are retried */
  replay(filter: WebhookReplay): number;
  /** A node that shuts down hands over deliveries. @returns the number of accepted deliveries */
  take(deliveries: unknown): number;
}
