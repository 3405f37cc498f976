// Operations of webhooks: pending deliveries, dead letters, and their redelivery.
import { z } from 'zod';
import { operation } from '../core/operation.ts';
import { lists } from '../core/response.ts';
import { idSchema } from '../id.ts';
import { nodeDeadLetterSchema, nodeWebhookStatusSchema, replaySchema } from '../webhook.ts';

const limit = z
  .string()
  .regex(/^[1-9]\d{0,2}$/, 'to be a whole number from 1 to 999')
  .transform(Number)
  .optional()
  .meta({ description: 'Maximum number of dead letters, 1 to 999; default 100.' });

/** Results of all nodes, and the nodes that did not respond. */
const ofNodes = <T extends z.ZodType>(data: T) =>
  z.object({ data, incomplete: z.array(z.string()).meta({ description: 'Nodes that did not respond in time: their data is missing.' }) });

const webhooks = { tag: 'webhooks', errors: [], runs: 'here' } as const;

export const webhookOperations = {
  getWebhooks: operation('GET /webhooks', {
    ...webhooks,
    summary: 'Show the webhook deliveries of each node, and receivers with pending ones.',
    response: lists(ofNodes(z.array(nodeWebhookStatusSchema)), 'Counts and receivers, by node.'),
  }),
  listDeadLetters: operation('GET /webhooks/dead', {
    ...webhooks,
    summary: 'List deliveries of all nodes that failed permanently, newest first.',
    query: z.object({ roomId: idSchema.optional().meta({ description: 'Only dead letters of this room.' }), limit }),
    response: lists(ofNodes(z.array(nodeDeadLetterSchema)), 'The dead letters.'),
  }),
  replayDeadLetters: operation('POST /webhooks/dead/replay', {
    ...webhooks,
    summary: 'Send dead letters of all nodes again, with the same webhook-id.',
    body: { schema: replaySchema, required: false },
    response: lists(ofNodes(z.object({ replayed: z.number().int() })), 'How many deliveries are sent again.', { status: 202 }),
  }),
};
