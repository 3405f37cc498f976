// Webhook administration: LocalWebhookService for the webhooks of this node.
import { roomEventSchema } from '../../../api/events.ts';
import type { DeadLetterView } from '../../../api/webhook.ts';
import type { LocalWebhookService } from '../../rooms/services/webhook-admin.ts';
import type { DeadLetter } from './dead-letters.ts';
import { redactUrl, type Webhooks } from './webhooks.ts';

export function webhookAdmin(webhooks: Webhooks): LocalWebhookService {
  return {
    status: () => ({
      ...webhooks.counters(),
      receivers: webhooks.receivers().map(({ url, ...rest }) => ({ receiver: redactUrl(url), ...rest })),
    }),
    deadLetters: (filter, limit) => webhooks.deadLetters(filter, limit).flatMap((letter) => viewOf(letter) ?? []),
    replay: (filter) => webhooks.replay(filter),
    take: (deliveries) => webhooks.take(deliveries),
  };
}

/** @returns undefined for an event type that only another version has. */
function viewOf({ url, givenUpAt, reason, attempts, body }: DeadLetter): DeadLetterView | undefined {
  const event = roomEventSchema.safeParse(JSON.parse(body));
  return event.success ? { receiver: redactUrl(url), givenUpAt, reason, attempts, event: event.data } : undefined;
}
