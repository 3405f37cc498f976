// Routes of the cluster: nodes, drains and their configuration.
import { z } from 'zod';
import { configValueSchema, drainOptionsSchema, drainViewSchema, nodeConfigSchema, nodeViewSchema } from '../../../api/node.ts';
import { dataSchema, pathParameters, type Route, route } from './route.ts';

const configAnswerSchema = dataSchema(z.array(configValueSchema))
  .extend(nodeConfigSchema.omit({ values: true }).shape)
  .meta({ id: 'NodeConfig' });

export const clusterRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/cluster/nodes',
    operationId: 'listNodes',
    tag: 'cluster',
    summary: 'List the connected nodes with their state and load.',
    auth: 'token',
    answers: { 200: { description: 'The nodes of the cluster, including this one.', schema: dataSchema(z.array(nodeViewSchema)) } },
    errors: [],
    handle: async (_, { cluster }) => ({ status: 200, json: { data: await cluster.nodes() } }),
  }),
  route({
    method: 'GET',
    path: '/cluster/nodes/{nodeName}/drain',
    operationId: 'getDrain',
    tag: 'cluster',
    summary: 'Preview a drain of the node, or show the progress of a drain.',
    auth: 'token',
    answers: { 200: { description: 'Rooms and peers that it affects.', schema: dataSchema(drainViewSchema) } },
    errors: ['not_found', 'node_unreachable'],
    handle: async ({ params }, { cluster }) => ({ status: 200, json: { data: await cluster.drainView(params.nodeName) } }),
  }),
  route({
    method: 'POST',
    path: '/cluster/nodes/{nodeName}/drain',
    operationId: 'drainNode',
    tag: 'cluster',
    summary: 'Drain a node: no new rooms, rooms without connected peers end immediately, others at their end or at the deadline.',
    auth: 'token',
    body: { schema: drainOptionsSchema, required: false },
    answers: { 202: { description: 'The node is draining.' } },
    errors: ['not_found', 'terminating', 'node_unreachable'],
    handle: async ({ params, body }, { cluster }) => {
      await cluster.drain(params.nodeName, body ?? {});
      return { status: 202 };
    },
  }),
  route({
    method: 'DELETE',
    path: '/cluster/nodes/{nodeName}/drain',
    operationId: 'cancelDrain',
    tag: 'cluster',
    summary: 'Cancel the drain of a node: it accepts rooms again.',
    auth: 'token',
    answers: { 204: { description: 'The node accepts rooms.' } },
    errors: ['not_found', 'terminating', 'node_unreachable'],
    handle: async ({ params }, { cluster }) => {
      await cluster.cancelDrain(params.nodeName);
      return { status: 204 };
    },
  }),
  route({
    method: 'GET',
    path: '/config',
    operationId: 'getConfig',
    tag: 'node',
    summary: 'Show the effective configuration of this node or another one.',
    auth: 'token',
    query: z.object({ node: pathParameters.nodeName.optional() }),
    answers: { 200: { description: 'Every variable, without secrets.', schema: configAnswerSchema } },
    errors: ['not_found', 'node_unreachable'],
    handle: async ({ query }, { cluster }) => {
      const { values, ...more } = await cluster.config(query.node);
      return { status: 200, json: { data: values, ...more } };
    },
  }),
];
