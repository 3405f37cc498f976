// Webhooks: pending deliveries per receiver, and dead letters.
import { z } from 'zod';
import { roomEventSchema } from './events.ts';
import { idSchema } from './id.ts';

const webhookReceiverSchema = z
  .object({
    receiver: z.string().meta({ description: 'Scheme, host and port; the rest of the URL is hidden because it may contain a key.' }),
    pending: z.number().int().meta({ description: 'Number of pending deliveries.' }),
    rooms: z.number().int().meta({ description: 'Number of rooms with pending events.' }),
    failing: z.boolean().meta({ description: 'True if the last attempt got no response.' }),
    problem: z
      .string()
      .max(500)
      .optional()
      .meta({ description: 'Error of the last failed attempt of a pending delivery, or why no more events of a room are sent.' }),
  })
  .meta({ id: 'WebhookReceiver' });

export const webhookStatusSchema = z
  .object({
    delivered: z.number().int(),
    retries: z.number().int().meta({ description: 'Failed attempts that were or will be retried.' }),
    dead: z.number().int().meta({ description: 'Deliveries that failed permanently.' }),
    pending: z.number().int(),
    pendingBytes: z.number().int(),
    spoolErrors: z.number().int().meta({ description: 'Failed writes to the spool.' }),
    spoolBytes: z.number().int().meta({ description: 'Size of the spool on disk, in bytes.' }),
    receivers: z.array(webhookReceiverSchema),
  })
  .meta({ description: 'Webhooks of one node; counts since its start.' });
export type WebhookStatus = z.infer<typeof webhookStatusSchema>;

const nodeSchema = z.string().meta({ description: 'Node that stores it.' });
export const nodeWebhookStatusSchema = webhookStatusSchema
  .extend({ node: nodeSchema })
  .meta({ id: 'WebhookStatus', description: 'Webhooks of one node; counts since its start.' });

export const deadLetterSchema = z
  .object({
    receiver: z.string(),
    givenUpAt: z.iso.datetime(),
    reason: z.string(),
    attempts: z.number().int(),
    event: roomEventSchema,
  })
  .meta({ description: 'A delivery that failed permanently.' });
export type DeadLetterView = z.infer<typeof deadLetterSchema>;

export const nodeDeadLetterSchema = deadLetterSchema
  .extend({ node: nodeSchema })
  .meta({ id: 'DeadLetter', description: 'A delivery that failed permanently.' });

export const replaySchema = z
  .strictObject({
    roomId: idSchema.optional(),
    eventIds: z.array(z.string().min(1).max(256)).min(1).max(1000).optional(),
  })
  .meta({
    id: 'WebhookReplay',
    description: 'Selects dead letters to deliver again: those that match all fields; an empty object selects all.',
  });
export type WebhookReplay = z.infer<typeof replaySchema>;
