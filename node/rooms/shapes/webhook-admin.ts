// Webhooks as an operator sees them: who is behind, and what was given up.
import { z } from 'zod';
import { roomEventSchema } from './events.ts';
import { idSchema } from './views.ts';

export const webhookReceiverSchema = z
  .object({
    receiver: z.string().meta({ description: 'Scheme, host and port; what follows them may hold a key and is not shown.' }),
    pending: z.number().int().meta({ description: 'Deliveries that wait.' }),
    rooms: z.number().int().meta({ description: 'Rooms whose events wait.' }),
    failing: z.boolean().meta({ description: 'Whether the last try got no answer at all.' }),
    problem: z
      .string()
      .max(500)
      .optional()
      .meta({ description: 'Why the last try of something that waits failed, or why nothing more is sent of a room.' }),
  })
  .meta({ id: 'WebhookReceiver' });
export type WebhookReceiverView = z.infer<typeof webhookReceiverSchema>;

export const webhookStatusSchema = z
  .object({
    delivered: z.number().int(),
    retries: z.number().int().meta({ description: 'Tries that failed and were or will be repeated.' }),
    dead: z.number().int().meta({ description: 'Deliveries that were given up.' }),
    pending: z.number().int(),
    pendingBytes: z.number().int(),
    spoolErrors: z.number().int().meta({ description: 'Writes to the spool that failed.' }),
    spoolBytes: z.number().int().meta({ description: 'Bytes of the spool on disk.' }),
    receivers: z.array(webhookReceiverSchema),
  })
  .meta({ description: 'Webhooks of one node; counts are since its start.' });
export type WebhookStatus = z.infer<typeof webhookStatusSchema>;

const nodeSchema = z.string().meta({ description: 'Node that has it.' });
export const nodeWebhookStatusSchema = webhookStatusSchema
  .extend({ node: nodeSchema })
  .meta({ id: 'WebhookStatus', description: 'Webhooks of one node; counts are since its start.' });
export type NodeWebhookStatus = z.infer<typeof nodeWebhookStatusSchema>;

export const deadLetterSchema = z
  .object({
    receiver: z.string(),
    givenUpAt: z.iso.datetime(),
    reason: z.string(),
    attempts: z.number().int(),
    event: roomEventSchema,
  })
  .meta({ description: 'A delivery that was given up.' });
export type DeadLetterView = z.infer<typeof deadLetterSchema>;

export const nodeDeadLetterSchema = deadLetterSchema
  .extend({ node: nodeSchema })
  .meta({ id: 'DeadLetter', description: 'A delivery that was given up.' });
export type NodeDeadLetter = z.infer<typeof nodeDeadLetterSchema>;

export const replaySchema = z
  .strictObject({
    roomId: idSchema.optional(),
    eventIds: z.array(z.string().min(1).max(256)).min(1).max(1000).optional(),
  })
  .meta({
    id: 'WebhookReplay',
    description: 'Which dead letters are sent again: those that match everything given; without anything, all.',
  });
export type WebhookReplay = z.infer<typeof replaySchema>;

/** Of this node. */
export interface LocalWebhookService {
  status(): WebhookStatus;
  /** The newest `limit`, newest first. */
  deadLetters(filter: WebhookReplay, limit: number): DeadLetterView[];
  /** @returns how many are sent again. */
  replay(filter: WebhookReplay): number;
}

/** Of all connected nodes and this one. `incomplete` names those that did not answer. */
export interface WebhookAdmin {
  status(): Promise<{ nodes: NodeWebhookStatus[]; incomplete: string[] }>;
  deadLetters(filter: WebhookReplay, limit: number): Promise<{ letters: NodeDeadLetter[]; incomplete: string[] }>;
  replay(filter: WebhookReplay): Promise<{ replayed: number; incomplete: string[] }>;
}
