// Routes of the node: health, probes, documents, and the session of the console before login.
import { z } from 'zod';
import { ServiceError } from '../../../api/errors.ts';
import { healthViewSchema } from '../health-view.ts';
import { consoleSessionSchema } from '../middleware/console-session.ts';
import { type Answer, dataSchema, type Route, route } from './route.ts';

const probeSchema = dataSchema(z.object({ status: z.literal('UP') })).meta({ id: 'Probe' });
const json = 'application/json';
const up: Answer = { status: 200, json: { data: { status: 'UP' } } };

const accessSchema = z
  .object({
    scope: z.enum(['full', 'read']).meta({ description: 'read: every GET, events and content; all else is rejected with `read_only`.' }),
  })
  .meta({ id: 'Access' });

export const nodeRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/access',
    operationId: 'getAccess',
    tag: 'node',
    summary: 'Show the scope of the token of the request.',
    auth: 'token',
    answers: { 200: { description: 'The scope.', schema: dataSchema(accessSchema) } },
    errors: [],
    handle: ({ scope }) => ({ status: 200, json: { data: { scope: scope === 'admin' ? 'full' : 'read' } } }),
  }),
  route({
    method: 'GET',
    path: '/health',
    operationId: 'getHealth',
    tag: 'node',
    summary: 'Show the health of the node that receives the request.',
    auth: 'token',
    answers: { 200: { description: 'Health of the node.', schema: dataSchema(healthViewSchema) } },
    errors: [],
    handle: async (_, { health }) => ({ status: 200, json: { data: await health() } }),
  }),
  route({
    method: 'GET',
    path: '/livez',
    operationId: 'isAlive',
    tag: 'node',
    summary: 'Liveness probe: the process responds.',
    auth: 'none',
    answers: { 200: { description: 'Alive.', schema: probeSchema } },
    errors: [],
    handle: () => up,
  }),
  route({
    method: 'GET',
    path: '/readyz',
    operationId: 'isReady',
    tag: 'node',
    summary:
      'Readiness probe: the node serves rooms and has synced with the nodes that were running before it, or has searched for them for 5 s. Also ready while it drains.',
    auth: 'none',
    answers: { 200: { description: 'Ready.', schema: probeSchema } },
    errors: ['unavailable'],
    handle: (_, { ready }) => {
      if (!ready()) throw new ServiceError('unavailable', 'The node is not ready');
      return up;
    },
  }),
  route({
    method: 'GET',
    path: '/console/session',
    operationId: 'getConsoleSession',
    tag: 'node',
    summary:
      'Session of the console before login. In development mode it contains the token, if the console was opened at a loopback address without a proxy.',
    auth: 'none',
    answers: { 200: { description: 'Mode of the node.', schema: consoleSessionSchema } },
    errors: ['forbidden'],
    handle: ({ fetchSite, local }, { consoleSession }) => {
      if (fetchSite !== undefined && fetchSite !== 'same-origin' && fetchSite !== 'none') {
        throw new ServiceError('forbidden', 'Only the console itself may request this');
      }
      const { development, token, components } = consoleSession();
      const tells = development && local();
      return { status: 200, json: { development: tells, ...(tells && { token }), components } };
    },
  }),
  route({
    method: 'GET',
    path: '/openapi.json',
    operationId: 'getOpenApi',
    tag: 'documents',
    summary: 'This document.',
    auth: 'none',
    answers: { 200: { description: 'OpenAPI 3.1 document.', schema: z.looseObject({ openapi: z.string() }) } },
    errors: [],
    handle: (_, { documents }) => ({ status: 200, text: documents.openapi(), type: json }),
  }),
  route({
    method: 'GET',
    path: '/asyncapi.json',
    operationId: 'getAsyncApi',
    tag: 'documents',
    summary: 'AsyncAPI document of the websockets.',
    auth: 'none',
    answers: { 200: { description: 'AsyncAPI document.', schema: z.looseObject({ asyncapi: z.string() }) } },
    errors: ['not_found'],
    handle: (_, { documents }) => {
      const text = documents.asyncapi();
      if (text === undefined) throw new ServiceError('not_found', 'This node has no AsyncAPI document');
      return { status: 200, text, type: json };
    },
  }),
  route({
    method: 'GET',
    path: '/schemas/events.json',
    operationId: 'getEventSchema',
    tag: 'documents',
    summary: 'JSON Schema of the events on websockets and webhooks.',
    auth: 'none',
    answers: { 200: { description: 'JSON Schema, draft 2020-12.', schema: z.looseObject({ $schema: z.string() }) } },
    errors: [],
    handle: (_, { documents }) => ({ status: 200, text: documents.events(), type: json }),
  }),
  route({
    method: 'GET',
    path: '/docs',
    operationId: 'getDocs',
    tag: 'documents',
    summary: 'This document as an HTML page.',
    auth: 'none',
    answers: { 200: { description: 'A page.', type: 'text/html' } },
    errors: [],
    handle: (_, { documents }) => {
      const { html, policy } = documents.page();
      return { status: 200, text: html, type: 'text/html; charset=utf-8', headers: { 'content-security-policy': policy } };
    },
  }),
];
