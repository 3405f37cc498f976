// Reloadable settings of the nodes, as a MediaCluster contains them. Secrets are referenced, not included.
import { z } from 'zod';
import { componentTypeNames } from '../api/component/types.ts';
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
    message: 'must omit the default port of the scheme',
  },
  (value) => !/^(https:.*:443|http:.*:80)$/.test(value),
);
const seconds = integer(1, maxSeconds);

const iceServer = withRules(
  z
    .object({
      urls: z.array(iceUrl).min(1).max(8).meta({ description: 'stun:, stuns:, turn: or turns: URLs.' }),
      username: z.string().max(512).optional().meta({ description: 'TURN user name.' }),
      credential: z
        .object({ secretRef: secretKeyRef.meta({ description: 'Secret and key of the credential.' }) })
        .optional()
        .meta({ description: 'TURN credential, from a Secret.' }),
    })
    .meta({ description: 'An RTCIceServer.' }),
  {
    rule: "!self.urls.exists(url, url.startsWith('turn')) || (has(self.username) && has(self.credential))",
    message: 'needs username and credential, because one of its URLs is a TURN URL',
  },
);

const webhooks = z
  .object({
    urls: z.array(httpUrl).max(16).optional().meta({ description: 'Receivers of the events of all rooms.' }),
    // The node keeps it in one timer, whose maximum this is.
    maxAge: integer(1, 2_147_483).optional().meta({ description: 'Seconds for which a delivery is retried; a day if omitted.' }),
    allowPrivate: z.boolean().optional().meta({
      description: 'Whether webhooks may be sent to loopback and private addresses; config.allowPrivateAddresses decides if omitted.',
    }),
  })
  .meta({ description: 'Webhooks; their signing keys are in secrets.webhooks.' });

const perSecond = integer(1, 1_000_000).nullable();
const limits = z
  .object({
    maxRooms: integer(0, 1_000_000).nullable().optional().meta({ description: 'Rooms on a node; no limit if omitted.' }),
    maxPeersPerRoom: integer(1, 1_000_000).optional().meta({ description: 'Upper bound of maxPeers of every room; 500 if omitted.' }),
    maxTracksPerPeer: integer(1, 10_000).optional().meta({ description: 'Tracks that a peer may publish; 32 if omitted.' }),
    rateLimitApi: perSecond.optional().meta({ description: 'REST requests per second of each client and token; no limit if omitted.' }),
    rateLimitSocket: perSecond.optional().meta({ description: 'Messages per second and socket; 50 if omitted, null = no limit.' }),
    pendingMaxBytes: integer(1, Number.MAX_SAFE_INTEGER)
      .optional()
      .meta({ description: 'Bytes of webhook deliveries that wait on a node; 256 MiB if omitted.' }),
    dataMessageMaxBytes: integer(1, 262_144).optional().meta({ description: 'Bytes of JSON in a message of a peer; 16 KiB if omitted.' }),
  })
  .meta({ description: 'Limits.' });

const timeouts = z
  .object({
    peerResumeWindow: integer(0, 86_400).optional().meta({
      description: 'Seconds for which a peer that lost its socket keeps its media before it counts as disconnected; 10 if omitted.',
    }),
    rawRecordingTtl: seconds
      .nullable()
      .optional()
      .meta({ description: 'Seconds after which local recordings are deleted; a day after their upload if omitted.' }),
  })
  .meta({ description: 'Timeouts.' });

const roomDefaults = z
  .object({
    peerDisconnectedTimeout: secondsOrZero
      .nullable()
      .optional()
      .meta({ description: 'Seconds after which a disconnected peer is removed; 0 or null = never, 120 if omitted.' }),
    peerlessPurgeTimeout: secondsOrZero
      .nullable()
      .optional()
      .meta({ description: 'Seconds without a connected peer after which a room ends; 0 or null = never, never if omitted.' }),
  })
  .meta({ description: 'Default timeouts of rooms.' });

const s3 = z
  .object({
    bucket: bucket.meta({ description: 'Bucket.' }),
    region: region.optional().meta({ description: 'Its region.' }),
    endpoint: endpointUrl.optional().meta({ description: 'S3 endpoint URL, for storage other than Amazon S3.' }),
    pathPrefix: objectPrefix.optional().meta({ description: 'Prefix of every object key.' }),
  })
  .meta({ description: 'Default S3 storage; its keys are in secrets.s3.' });

export const clusterConfigSchema = z
  .object({
    componentsUsed: z
      .array(z.enum(componentTypeNames))
      .max(componentTypeNames.length)
      .optional()
      .meta({ description: 'Component types that may be added; none if omitted.', 'x-kubernetes-list-type': 'set' }),
    logLevel: z.enum(['error', 'warning', 'info', 'debug']).optional().meta({ description: 'Log level; info if omitted.' }),
    corsOrigins: z
      .array(origin)
      .max(100)
      .optional()
      .meta({ description: 'Origins whose pages may call the REST API; all (`*`) if omitted.' }),
    iceServers: z.array(iceServer).max(16).optional().meta({ description: 'Additional STUN and TURN servers for clients.' }),
    allowPrivateAddresses: z.boolean().optional().meta({
      description:
        'Whether requests may name S3 storages, SIP registrars and webhook receivers with loopback, private and link-local addresses; false if omitted.',
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
          .meta({ description: 'Bit/s that a peer may send; no limit if omitted.' }),
      })
      .optional()
      .meta({ description: 'Media.' }),
    avMaxCpu: z.number().min(0).max(1024).optional().meta({
      description: 'CPU cores that decoding and encoding components may use by estimate; all cores but half a core if omitted.',
    }),
  })
  .meta({
    description: 'Reloadable settings of the nodes (docs/reference/configuration.md); secrets are referenced.',
  });
export type ClusterConfig = z.infer<typeof clusterConfigSchema>;
