// Routes of webhooks: pending deliveries, dead letters, and their redelivery.
import { z } from 'zod';
import { idSchema } from '../../../api/id.ts';
import { nodeDeadLetterSchema, nodeWebhookStatusSchema, replaySchema } from '../../../api/webhook.ts';
import { dataSchema, type Route, route } from './route.ts';

const limit = z
  .string()
  .regex(/^[1-9]\d{0,2}$/, 'to be a whole number from 1 to 999')
  .transform(Number)
  .optional()
  .meta({ description: 'Maximum number of dead letters, 1 to 999; default 100.' });

/** Results of all nodes, and the nodes that did not respond. */
const answerOf = <T extends z.ZodType>(schema: T) =>
  dataSchema(schema).extend({
    incomplete: z.array(z.string()).meta({ description: 'Nodes that did not respond in time: their data is missing.' }),
  });

export const webhookRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/webhooks',
    operationId: 'getWebhooks',
    tag: 'webhooks',
    summary: 'Show the webhook deliveries of each node, and receivers with pending ones.',
    auth: 'token',
    answers: { 200: { description: 'Counts and receivers, by node.', schema: answerOf(z.array(nodeWebhookStatusSchema)) } },
    errors: [],
    handle: async (_, { webhooks }) => {
      const { nodes, incomplete } = await webhooks.status();
      return { status: 200, json: { data: nodes, incomplete } };
    },
  }),
  route({
    method: 'GET',
    path: '/webhooks/dead',
    operationId: 'listDeadLetters',
    tag: 'webhooks',
    summary: 'List deliveries of all nodes that failed permanently, newest first.',
    auth: 'token',
    query: z.object({ roomId: idSchema.optional().meta({ description: 'Only dead letters of this room.' }), limit }),
    answers: { 200: { description: 'The dead letters.', schema: answerOf(z.array(nodeDeadLetterSchema)) } },
    errors: [],
    handle: async ({ query }, { webhooks }) => {
      const { letters, incomplete } = await webhooks.deadLetters({ roomId: query.roomId }, query.limit ?? 100);
      return { status: 200, json: { data: letters, incomplete } };
    },
  }),
  route({
    method: 'POST',
    path: '/webhooks/dead/replay',
    operationId: 'replayDeadLetters',
    tag: 'webhooks',
    summary: 'Send dead letters of all nodes again, with the same webhook-id.',
    auth: 'token',
    body: { schema: replaySchema, required: false },
    answers: { 202: { description: 'How many deliveries are sent again.', schema: answerOf(z.object({ replayed: z.number().int() })) } },
    errors: [],
    handle: async ({ body }, { webhooks }) => {
      const { replayed, incomplete } = await webhooks.replay(body ?? {});
      return { status: 202, json: { data: { replayed }, incomplete } };
    },
  }),
];
