// The health of a node as GET /health shows it.
import { z } from 'zod';
import { configFilesSchema } from '../rooms/shapes/cluster-control.ts';

export const healthViewSchema = z
  .object({
    status: z.enum(['UP', 'STARTING', 'DRAINING', 'DEGRADED']).meta({
      description:
        '`STARTING` until the node is ready, `DRAINING` once it takes no new rooms, `DEGRADED` while no media worker runs or the disk is full or cannot be written to. The HTTP status is 200 all the same: `/readyz` decides.',
    }),
    reason: z.string().nullable().meta({ description: 'Why the status is not `UP`, in words.' }),
    uptime: z.number().int().nonnegative().meta({ description: 'Seconds since the node started.' }),
    version: z.string(),
    gitCommit: z.string(),
    distribution: z.object({
      enabled: z.boolean(),
      nodeStatus: z.enum(['UP', 'DOWN']),
      nodesInCluster: z
        .number()
        .int()
        .nonnegative()
        .meta({ description: 'Nodes of the cluster with this one; 0 while distribution is off.' }),
    }),
    state: z.enum(['accepting', 'draining', 'terminating']).meta({ description: 'Whether the node takes new rooms.' }),
    load: z
      .object({
        rooms: z.number().int().nonnegative(),
        connectedPeers: z.number().int().nonnegative(),
        forwardedTracks: z.number().int().nonnegative(),
      })
      .meta({ description: 'What lives on this node alone: whoever may end it wants to know.' }),
    config: configFilesSchema,
  })
  .meta({ id: 'Health', description: 'Health of the node that answered.' });
export type HealthView = z.infer<typeof healthViewSchema>;
