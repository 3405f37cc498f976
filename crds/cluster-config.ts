// The part of a node's configuration that changes while it runs, as a MediaCluster holds it: docs/reference/configuration.md's file, secrets by reference.
import { z } from 'zod';
import { componentTypes } from './component.ts';
import {
  bucket,
  endpointUrl,
  httpUrl,
  integer,
  limitedText,
  maxSeconds,
  objectPrefix,
  refineText,
  region,
  secondsOrZero,
  secretKeyRef,
  withRules,
} from './schema.ts';

const iceUrl = limitedText(512, /^(stuns?|turns?):[^\s/?#]+(\?transport=(udp|tcp))?$/, 'must be a stun:, stuns:, turn: or turns: URL');
const origin = refineText(
  limitedText(512, /^(\*|https?:\/\/[^\s/?#@]+)$/, "must be '*' or an origin such as https://app.example, without a path"),
  {
    rule: "!(self.startsWith('https://') && self.endsWith(':443')) && !(self.startsWith('http://') && self.endsWith(':80'))",
    message: 'must leave out the port that the scheme has anyway',
  },
  (value) => !/^(https:.*:443|http:.*:80)$/.test(value),
);
const seconds = integer(1, maxSeconds);

const iceServer = withRules(
  z
    .object({
      urls: z.array(iceUrl).min(1).max(8).meta({ description: 'stun:, stuns:, turn: or turns: URLs.' }),
      username: z.string().max(512).optional().meta({ description: 'User of TURN.' }),
      credential: z
        .object({ secretRef: secretKeyRef.meta({ description: 'Where it is kept.' }) })
        .optional()
        .meta({ description: 'Credential of TURN, from a Secret.' }),
    })
    .meta({ description: 'An RTCIceServer.' }),
  {
    rule: "!self.urls.exists(url, url.startsWith('turn')) || (has(self.username) && has(self.credential))",
    message: 'needs username and credential, since one of its URLs is of TURN',
  },
);

const webhooks = z
  .object({
    urls: z.array(httpUrl).max(16).optional().meta({ description: 'Receivers of the events of all rooms.' }),
    // A node keeps it in one timer, which lasts no longer.
    maxAge: integer(1, 2_147_483).optional().meta({ description: 'Seconds for which a delivery is tried again; a day where left out.' }),
    allowPrivate: z
      .boolean()
      .optional()
      .meta({ description: 'Whether webhooks may go to loopback and private addresses; as config.allowPrivateAddresses where left out.' }),
  })
  .meta({ description: 'Webhooks; their signing keys come from secrets.webhooks.' });

const perSecond = integer(1, 1_000_000).nullable();
const limits = z
  .object({
    maxRooms: integer(0, 1_000_000).nullable().optional().meta({ description: 'Rooms on a node; no limit where left out.' }),
    maxPeersPerRoom: integer(1, 1_000_000).optional().meta({ description: 'Peers in a room, whatever it asks for; 500 where left out.' }),
    maxTracksPerPeer: integer(1, 10_000).optional().meta({ description: 'Tracks that a peer may publish; 32 where left out.' }),
    rateLimitApi: perSecond
      .optional()
      .meta({ description: 'REST requests per second, of each client and token; no limit where left out.' }),
    rateLimitSocket: perSecond.optional().meta({ description: 'Messages per second and socket; 50 where left out, null = no limit.' }),
    pendingMaxBytes: integer(1, Number.MAX_SAFE_INTEGER)
      .optional()
      .meta({ description: 'Bytes of webhook deliveries that wait on a node; 256 MiB where left out.' }),
    dataMessageMaxBytes: integer(1, 262_144)
      .optional()
      .meta({ description: 'Bytes of JSON that a message of a peer may have; 16 KiB where left out.' }),
  })
  .meta({ description: 'Limits.' });

const timeouts = z
  .object({
    peerResumeWindow: integer(0, 86_400).optional().meta({
      description: 'Seconds that a peer whose socket was lost keeps its media before it counts as disconnected; 10 where left out.',
    }),
    rawRecordingTtl: seconds
      .nullable()
      .optional()
      .meta({ description: 'Seconds after which local recordings go; a day after their upload where left out.' }),
  })
  .meta({ description: 'Timeouts.' });

const roomDefaults = z
  .object({
    peerDisconnectedTimeout: secondsOrZero
      .nullable()
      .optional()
      .meta({ description: 'Seconds after which a disconnected peer is removed; 0 or null = never, 120 where left out.' }),
    peerlessPurgeTimeout: secondsOrZero
      .nullable()
      .optional()
      .meta({ description: 'Seconds without a connected peer after which a room ends; 0 or null = never, never where left out.' }),
  })
  .meta({ description: 'Timeouts of rooms that say nothing.' });

const s3 = z
  .object({
    bucket: bucket.meta({ description: 'Bucket.' }),
    region: region.optional().meta({ description: 'Its region.' }),
    endpoint: endpointUrl.optional().meta({ description: "URL of S3 where it is not Amazon's." }),
    pathPrefix: objectPrefix.optional().meta({ description: 'Put before the key of every object.' }),
  })
  .meta({ description: 'Default S3 storage; its keys come from secrets.s3.' });

export const clusterConfigSchema = z
  .object({
    componentsUsed: z
      .array(z.enum(componentTypes))
      .max(4)
      .optional()
      .meta({ description: 'Kinds of components that may be added; none where left out.', 'x-kubernetes-list-type': 'set' }),
    logLevel: z.enum(['error', 'warning', 'info', 'debug']).optional().meta({ description: 'Level of the log; info where left out.' }),
    corsOrigins: z
      .array(origin)
      .max(100)
      .optional()
      .meta({ description: 'Origins whose pages may call the REST API; all (`*`) where left out.' }),
    iceServers: z.array(iceServer).max(16).optional().meta({ description: 'Further STUN and TURN servers for clients.' }),
    allowPrivateAddresses: z.boolean().optional().meta({
      description:
        'Whether S3 storages, SIP registrars and receivers of webhooks that requests name may have loopback, private and link-local addresses; not where left out.',
    }),
    webhooks: webhooks.optional(),
    limits: limits.optional(),
    timeouts: timeouts.optional(),
    roomDefaults: roomDefaults.optional(),
    s3: s3.optional(),
    webrtc: z
      .object({
        maxIncomingBitrate: integer(1, 10_000_000_000)
          .nullable()
          .optional()
          .meta({ description: 'Bit/s that a peer may send; no limit where left out.' }),
      })
      .optional()
      .meta({ description: 'Media.' }),
    avMaxCpu: z.number().min(0).max(1024).optional().meta({
      description: 'Cores that components which decode or encode may use by estimate; half a core less than there are where left out.',
    }),
  })
  .meta({
    description: 'Settings of the nodes that change without a restart (docs/reference/configuration.md); secrets come by reference.',
  });
export type ClusterConfig = z.infer<typeof clusterConfigSchema>;
