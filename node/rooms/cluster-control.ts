// The nodes of a cluster as REST shows them, and what can be asked of one.
import { z } from 'zod';

export const nodeStateSchema = z.enum(['accepting', 'draining', 'terminating']).meta({
  id: 'NodeState',
  description: 'accepting: takes rooms; draining: takes none, can be called back; terminating: got its signal, is final.',
});
export type NodeState = z.infer<typeof nodeStateSchema>;

export const nodeViewSchema = z
  .object({
    name: z.string(),
    address: z.string().meta({ description: 'SVC_HOST of the node.' }),
    version: z.string(),
    state: nodeStateSchema,
    load: z
      .object({ rooms: z.number(), forwardedTracks: z.number(), cpu: z.number(), accepting: z.boolean() })
      .nullable()
      .meta({ description: 'null where the node did not answer in time.' }),
  })
  .meta({ id: 'Node', description: 'A node of the cluster.' });
export type NodeView = z.infer<typeof nodeViewSchema>;

export const drainOptionsSchema = z
  .strictObject({
    deadline: z
      .number({ error: 'to be a number of seconds' })
      .int('to be a whole number of seconds')
      .min(0, 'to be at least 0')
      .max(31_536_000, 'to be at most 31536000')
      .optional()
      .meta({ description: 'Seconds after which rooms end that still have peers; SVC_DRAIN_TIMEOUT where left out.' }),
  })
  .meta({ id: 'DrainOptions' });
export type DrainOptions = z.infer<typeof drainOptionsSchema>;

export interface ClusterControl {
  /** All connected nodes and this one, by name. */
  nodes(): Promise<NodeView[]>;
  /** @throws ServiceError `not_found`, `terminating`, `node_unreachable` */
  drain(node: string, options: DrainOptions): Promise<void>;
  cancelDrain(node: string): Promise<void>;
}
