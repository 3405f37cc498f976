// Autoscaling of a MediaCluster by the operator.
import { z } from 'zod';
import { integer, withRules } from './schema.ts';

export const autoscaling = withRules(
  z.object({
    minReplicas: integer(1, 100).default(1).meta({ description: 'Minimum number of nodes.' }),
    maxReplicas: integer(1, 100).meta({ description: 'Maximum number of nodes.' }),
    targetForwardedTracks: integer(1, 1_000_000).default(500).meta({ description: 'Target average of forwarded tracks per node.' }),
    targetRooms: integer(1, 1_000_000).optional().meta({ description: 'Target average of rooms per node.' }),
    targetCpuPercent: integer(1, 100)
      .optional()
      .meta({ description: 'Target average of the CPU that the container of a node uses, in percent of the cores that it may use.' }),
    targetCalls: integer(1, 1_000_000).optional().meta({ description: 'Target average of phone calls per node.' }),
    targetStreams: integer(1, 1_000_000)
      .optional()
      .meta({ description: 'Target average of composed streams (components of type hls) per node.' }),
    scaleUpOnRejectedRooms: z
      .boolean()
      .default(true)
      .meta({ description: 'Add a node when a room was rejected because no node accepted rooms, for example at maxRooms.' }),
    bufferNodes: integer(0, 100)
      .default(0)
      .meta({ description: 'Nodes in addition to those that the load requires, for rooms that begin while a further node starts.' }),
    scaleDownStabilizationSeconds: integer(0, 86_400)
      .default(300)
      .meta({ description: 'Seconds for which fewer nodes must have been sufficient before a node is removed.' }),
  }),
  { rule: 'self.minReplicas <= self.maxReplicas', message: 'minReplicas must not be above maxReplicas' },
).meta({ description: 'Lets the operator choose the number of nodes.' });
