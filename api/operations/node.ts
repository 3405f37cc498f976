// Operations of the node: health, probes, documents, and the session of the console before login.
import { z } from 'zod';
import { consoleSessionSchema } from '../console-session.ts';
import { operation } from '../core/operation.ts';
import { lists, sends, shows } from '../core/response.ts';
import { healthViewSchema } from '../health.ts';

const probeSchema = z.object({ data: z.object({ status: z.literal('UP') }) }).meta({ id: 'Probe' });

const accessSchema = z
  .object({
    scope: z.enum(['full', 'read']).meta({ description: 'read: every GET, events and content; all else is rejected with `read_only`.' }),
  })
  .meta({ id: 'Access' });

const node = { tag: 'node', errors: [], runs: 'here' } as const;
const open = { ...node, auth: 'none' } as const;
const document = { ...open, tag: 'documents' } as const;

export const nodeOperations = {
  getAccess: operation('GET /access', {
    ...node,
    summary: 'Show the scope of the token of the request.',
    response: shows(accessSchema, 'The scope.'),
    sdk: 'cluster.access()',
  }),
  getHealth: operation('GET /health', {
    ...node,
    summary: 'Show the health of the node that receives the request.',
    response: shows(healthViewSchema, 'Health of the node.'),
    sdk: 'cluster.health()',
  }),
  isAlive: operation('GET /livez', {
    ...open,
    summary: 'Liveness probe: the process responds.',
    response: lists(probeSchema, 'Alive.'),
  }),
  isReady: operation('GET /readyz', {
    ...open,
    summary:
      'Readiness probe: the node serves rooms and has synced with the nodes that were running before it, or has searched for them for 5 s. Also ready while it drains.',
    response: lists(probeSchema, 'Ready.'),
    errors: ['unavailable'],
  }),
  getConsoleSession: operation('GET /console/session', {
    ...open,
    summary:
      'Session of the console before login. In development mode it contains the token, if the console was opened at a loopback address without a proxy.',
    response: lists(consoleSessionSchema, 'Mode of the node.'),
    errors: ['forbidden'],
  }),
  getOpenApi: operation('GET /openapi.json', {
    ...document,
    summary: 'This document.',
    response: sends({ 200: { description: 'OpenAPI 3.1 document.', schema: z.looseObject({ openapi: z.string() }) } }),
  }),
  getAsyncApi: operation('GET /asyncapi.json', {
    ...document,
    summary: 'AsyncAPI document of the websockets.',
    response: sends({ 200: { description: 'AsyncAPI document.', schema: z.looseObject({ asyncapi: z.string() }) } }),
    errors: ['not_found'],
  }),
  getEventSchema: operation('GET /schemas/events.json', {
    ...document,
    summary: 'JSON Schema of the events on websockets and webhooks.',
    response: sends({ 200: { description: 'JSON Schema, draft 2020-12.', schema: z.looseObject({ $schema: z.string() }) } }),
  }),
  getDocs: operation('GET /docs', {
    ...document,
    summary: 'This document as an HTML page.',
    response: sends({ 200: { description: 'A page.', type: 'text/html' } }),
  }),
};
