// Routes of webhooks: who is behind, what was given up, and sending that again.
import { z } from 'zod';
import { idSchema } from '../rooms/views.ts';
import { deadLetterSchema, replaySchema, webhookStatusSchema } from '../rooms/webhook-control.ts';
import { dataSchema, type Route, route } from './route.ts';

const limit = z
  .string()
  .regex(/^[1-9]\d{0,2}$/, 'to be a whole number from 1 to 999')
  .transform(Number)
  .optional()
  .meta({ description: 'How many to give at most, 1 to 999; 100 where left out.' });

export const webhookRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/webhooks',
    operationId: 'getWebhooks',
    tag: 'webhooks',
    summary: 'How far the webhooks of this node are, and which receivers are behind.',
    auth: 'token',
    answers: { 200: { description: 'Counts and receivers.', schema: dataSchema(webhookStatusSchema) } },
    errors: [],
    handle: (_, { webhooks }) => ({ status: 200, json: { data: webhooks.status() } }),
  }),
  route({
    method: 'GET',
    path: '/webhooks/dead',
    operationId: 'listDeadLetters',
    tag: 'webhooks',
    summary: 'Deliveries of this node that were given up, the newest first.',
    auth: 'token',
    query: z.object({ roomId: idSchema.optional().meta({ description: 'Only those of this room.' }), limit }),
    answers: { 200: { description: 'The dead letters.', schema: dataSchema(z.array(deadLetterSchema)) } },
    errors: [],
    handle: ({ query }, { webhooks }) => ({
      status: 200,
      json: { data: webhooks.deadLetters({ roomId: query.roomId }, query.limit ?? 100) },
    }),
  }),
  route({
    method: 'POST',
    path: '/webhooks/dead/replay',
    operationId: 'replayDeadLetters',
    tag: 'webhooks',
    summary: 'Send dead letters of this node again, with the same webhook-id.',
    auth: 'token',
    body: { schema: replaySchema, required: false },
    answers: { 202: { description: 'How many are sent again.', schema: dataSchema(z.object({ replayed: z.number().int() })) } },
    errors: [],
    handle: ({ body }, { webhooks }) => ({ status: 202, json: { data: { replayed: webhooks.replay(body ?? {}) } } }),
  }),
];
