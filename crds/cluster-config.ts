// The part of a node's configuration that changes while it runs, as a MediaCluster holds it: docs/configuration.md's file, secrets by reference.
import { z } from 'zod';
import { integer, secretKeyRef } from './schema.ts';

const url = z
  .string()
  .max(2048)
  .regex(/^https?:\/\/[^/\s#]+[^\s#]*$/);
const iceUrl = z
  .string()
  .max(512)
  .regex(/^(stuns?|turns?):[^\s/?#]+(\?transport=(udp|tcp))?$/);
const seconds = integer(1, 315_360_000);

export const clusterConfigSchema = z
  .object({
    componentsUsed: z
      .array(z.enum(['hls', 'recording', 'sip', 'file']))
      .max(4)
      .optional()
      .meta({ description: 'Kinds of components that may be added; none where left out.', 'x-kubernetes-list-type': 'set' }),
    logLevel: z.enum(['error', 'warning', 'info', 'debug']).optional().meta({ description: 'Level of the log; info where left out.' }),
    corsOrigins: z
      .array(z.string().max(512))
      .max(100)
      .optional()
      .meta({ description: 'Origins whose pages may call the REST API; all (`*`) where left out.' }),
    iceServers: z
      .array(
        z.object({
          urls: z.array(iceUrl).min(1).max(8).meta({ description: 'stun:, stuns:, turn: or turns: URLs.' }),
          username: z.string().max(512).optional(),
          credential: z.object({ secretRef: secretKeyRef }).optional().meta({ description: 'Credential of TURN, from a Secret.' }),
        }),
      )
      .max(16)
      .optional()
      .meta({ description: 'Further STUN and TURN servers for clients.' }),
    webhooks: z
      .object({
        urls: z.array(url).max(16).optional().meta({ description: 'Receivers of the events of all rooms.' }),
        maxAge: seconds.optional().meta({ description: 'Seconds for which a delivery is tried again; a day where left out.' }),
        allowPrivate: z.boolean().optional().meta({ description: 'Whether webhooks may go to loopback and private addresses.' }),
      })
      .optional()
      .meta({ description: 'Webhooks; their signing keys come from secrets.webhooks.' }),
    limits: z
      .object({
        maxRooms: integer(0, 1_000_000).nullable().optional().meta({ description: 'Rooms on a node.' }),
        maxPeersPerRoom: integer(1, 1_000_000).optional().meta({ description: 'Peers in a room, whatever it asks for.' }),
        maxTracksPerPeer: integer(1, 10_000).optional().meta({ description: 'Tracks that a peer may publish.' }),
        rateLimitApi: integer(1, 1_000_000)
          .nullable()
          .optional()
          .meta({ description: 'REST requests per second, of each client and token.' }),
        rateLimitSocket: integer(1, 1_000_000).nullable().optional().meta({ description: 'Messages per second and socket.' }),
        pendingMaxBytes: integer(1, Number.MAX_SAFE_INTEGER)
          .optional()
          .meta({ description: 'Bytes of webhook deliveries that wait on a node.' }),
      })
      .optional()
      .meta({ description: 'Limits.' }),
    timeouts: z
      .object({
        peerResumeWindow: integer(0, 86_400)
          .optional()
          .meta({ description: 'Seconds that a peer whose socket was lost keeps its media before it counts as disconnected.' }),
        rawRecordingTtl: seconds.nullable().optional().meta({ description: 'Seconds after which local recordings go.' }),
      })
      .optional()
      .meta({ description: 'Timeouts.' }),
    roomDefaults: z
      .object({
        peerDisconnectedTimeout: seconds
          .nullable()
          .optional()
          .meta({ description: 'For rooms that say nothing; null = never, 120 where left out.' }),
        peerlessPurgeTimeout: seconds.nullable().optional().meta({ description: 'For rooms that say nothing; never where left out.' }),
      })
      .optional()
      .meta({ description: 'Timeouts in seconds of rooms that say nothing.' }),
    s3: z
      .object({
        bucket: z
          .string()
          .max(255)
          .regex(/^[A-Za-z0-9][A-Za-z0-9._-]+$/)
          .meta({ description: 'Bucket.' }),
        region: z.string().max(64).optional().meta({ description: 'Its region.' }),
        endpoint: url.optional().meta({ description: 'URL of S3 where it is not Amazon.' }),
        pathPrefix: z.string().max(512).optional().meta({ description: 'Put before the key of every object.' }),
      })
      .optional()
      .meta({ description: 'Default S3 storage; its keys come from secrets.s3.' }),
    webrtc: z
      .object({ maxIncomingBitrate: integer(1, 10_000_000_000).nullable().optional().meta({ description: 'Bit/s that a peer may send.' }) })
      .optional()
      .meta({ description: 'Media.' }),
    avMaxCpu: z
      .number()
      .min(0)
      .max(1024)
      .optional()
      .meta({ description: 'Cores that components which decode or encode may use by estimate.' }),
  })
  .meta({ description: 'Settings of the nodes that change without a restart (docs/configuration.md); secrets come by reference.' });
export type ClusterConfig = z.infer<typeof clusterConfigSchema>;
