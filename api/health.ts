// Health view: the response of GET /health.
import { z } from 'zod';
import { busySchema, configFilesSchema } from './node.ts';

export const healthViewSchema = z
  .object({
    status: z.enum(['UP', 'STARTING', 'DRAINING', 'DEGRADED']).meta({
      description:
        '`STARTING` until the node is ready, `DRAINING` once it accepts no new rooms, `DEGRADED` while no media worker runs or the disk is full or not writable. The HTTP status is always 200; use `/readyz` for readiness.',
    }),
    reason: z.string().nullable().meta({ description: 'Why the status is not `UP`, as a message.' }),
    uptime: z.number().int().nonnegative().meta({ description: 'Seconds since the start of the node.' }),
    version: z.string(),
    gitCommit: z.string(),
    distribution: z.object({
      enabled: z.boolean(),
      nodeStatus: z.enum(['UP', 'DOWN']),
      nodesInCluster: z
        .number()
        .int()
        .nonnegative()
        .meta({ description: 'Number of nodes in the cluster including this one; 0 while distribution is off.' }),
    }),
    state: z.enum(['accepting', 'draining', 'terminating']).meta({ description: 'Whether the node accepts new rooms.' }),
    load: z
      .object({
        rooms: z.number().int().nonnegative(),
        connectedPeers: z.number().int().nonnegative(),
        forwardedTracks: z.number().int().nonnegative(),
        streams: z.number().int().nonnegative().meta({ description: 'Components of type hls, with or without viewers.' }),
        cpu: z
          .number()
          .nonnegative()
          .meta({ description: 'CPU that the container of the node used recently, as a share of the cores that it may use (0 to 1).' }),
        rejectedRooms: z
          .number()
          .int()
          .nonnegative()
          .meta({ description: 'Requests for a room that this node has rejected since its start, because no node accepted rooms.' }),
      })
      .meta({ description: 'Load of this node alone: what ends if the node ends.' }),
    busy: busySchema,
    config: configFilesSchema,
  })
  .meta({ id: 'Health', description: 'Health of the node that received the request.' });
export type HealthView = z.infer<typeof healthViewSchema>;
