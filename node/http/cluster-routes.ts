// Routes of the cluster: its nodes, and calling one to drain.
import { z } from 'zod';
import { drainOptionsSchema, nodeViewSchema } from '../rooms/cluster-control.ts';
import { dataSchema, type Route, route } from './route.ts';

export const clusterRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/cluster/nodes',
    operationId: 'listNodes',
    tag: 'cluster',
    summary: 'List the connected nodes with their state and load.',
    auth: 'token',
    answers: { 200: { description: 'The nodes, this one included.', schema: dataSchema(z.array(nodeViewSchema)) } },
    errors: [],
    handle: async (_, { cluster }) => ({ status: 200, json: { data: await cluster.nodes() } }),
  }),
  route({
    method: 'POST',
    path: '/cluster/nodes/{nodeName}/drain',
    operationId: 'drainNode',
    tag: 'cluster',
    summary: 'Drain a node: no new rooms, rooms without connected peers end at once, the others at their end or at the deadline.',
    auth: 'token',
    body: { schema: drainOptionsSchema, required: false },
    answers: { 202: { description: 'The node drains.' } },
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
    summary: 'Call a draining node back: it takes rooms again.',
    auth: 'token',
    answers: { 204: { description: 'The node takes rooms.' } },
    errors: ['not_found', 'terminating', 'node_unreachable'],
    handle: async ({ params }, { cluster }) => {
      await cluster.cancelDrain(params.nodeName);
      return { status: 204 };
    },
  }),
];
