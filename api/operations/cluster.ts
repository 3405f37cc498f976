// Operations of the cluster: nodes, drains and their configuration.
import { z } from 'zod';
import { operation } from '../core/operation.ts';
import { does, lists, shows } from '../core/response.ts';
import { configValueSchema, drainOptionsSchema, drainViewSchema, nodeConfigSchema, nodeViewSchema } from '../node.ts';
import { pathParameters } from '../parameters.ts';

const configPageSchema = z
  .object({ data: z.array(configValueSchema) })
  .extend(nodeConfigSchema.omit({ values: true }).shape)
  .meta({ id: 'NodeConfig' });

const drain = { tag: 'cluster', errors: ['not_found', 'terminating', 'node_unreachable'], runs: 'node' } as const;

export const clusterOperations = {
  listNodes: operation('GET /cluster/nodes', {
    tag: 'cluster',
    summary: 'List the connected nodes with their state and load.',
    response: shows(z.array(nodeViewSchema), 'The nodes of the cluster, including this one.'),
    errors: [],
    runs: 'here',
    sdk: 'cluster.nodes()',
  }),
  getDrain: operation('GET /cluster/nodes/{nodeName}/drain', {
    ...drain,
    summary: 'Preview a drain of the node, or show the progress of a drain.',
    response: shows(drainViewSchema, 'Rooms and peers that it affects.'),
    errors: ['not_found', 'node_unreachable'],
    timeoutMs: 2_000,
    sdk: 'cluster.getDrain()',
  }),
  drainNode: operation('POST /cluster/nodes/{nodeName}/drain', {
    ...drain,
    summary: 'Drain a node: no new rooms; rooms that are not busy end immediately, others at their end or at the deadline.',
    body: { schema: drainOptionsSchema, required: false },
    response: does(202, 'The node is draining.'),
    repeatable: true,
    sdk: 'cluster.drain(drain)',
  }),
  cancelDrain: operation('DELETE /cluster/nodes/{nodeName}/drain', {
    ...drain,
    summary: 'Cancel the drain of a node: it accepts rooms again.',
    response: does(204, 'The node accepts rooms.'),
    sdk: 'cluster.cancelDrain()',
  }),
  getConfig: operation('GET /config', {
    tag: 'node',
    summary: 'Show the effective configuration of this node or another one.',
    query: z.object({ node: pathParameters.nodeName.optional() }),
    response: lists(configPageSchema, 'Every variable, without secrets.'),
    errors: ['not_found', 'node_unreachable'],
    runs: 'here',
    sdk: 'cluster.config(node)',
  }),
};
