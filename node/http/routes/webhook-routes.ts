// Routes of webhooks: who is behind, what was given up, and sending that again.
import { z } from 'zod';
import { idSchema } from '../../rooms/shapes/views.ts';
import { nodeDeadLetterSchema, nodeWebhookStatusSchema, replaySchema } from '../../rooms/shapes/webhook-admin.ts';
import { dataSchema, type Route, route } from './route.ts';

const limit = z
  .string()
  .regex(/^[1-9]\d{0,2}$/, 'to be a whole number from 1 to 999')
  .transform(Number)
  .optional()
  .meta({ description: 'How many to give at most, 1 to 999; 100 where left out.' });

/** What all nodes have, and which of them did not answer. */
const answerOf = <T extends z.ZodType>(schema: T) =>
  dataSchema(schema).extend({
    incomplete: z.array(z.string()).meta({ description: 'Nodes that did not answer in time: what they have is missing.' }),
  });

export const webhookRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/webhooks',
    operationId: 'getWebhooks',
    tag: 'webhooks',
    summary: 'How far the webhooks of each node are, and which receivers are behind.',
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
    summary: 'Deliveries that were given up, of all nodes, the newest first.',
    auth: 'token',
    query: z.object({ roomId: idSchema.optional().meta({ description: 'Only those of this room.' }), limit }),
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
    answers: { 202: { description: 'How many are sent again.', schema: answerOf(z.object({ replayed: z.number().int() })) } },
    errors: [],
    handle: async ({ body }, { webhooks }) => {
      const { replayed, incomplete } = await webhooks.replay(body ?? {});
      return { status: 202, json: { data: { replayed }, incomplete } };
    },
  }),
];
