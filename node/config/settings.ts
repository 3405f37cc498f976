// Reloadable settings: their names in files, schema, and effective shape.
import { z } from 'zod';
import { isObjectPrefix, objectPrefixRule } from '../../api/component/s3-target.ts';
import { type ComponentType, componentTypeNames } from '../../api/component/types.ts';
import { maxTimeout } from '../../api/room.ts';
import type { LogLevel } from '../common/log.ts';
import * as value from './values.ts';

/** A client of the REST API. Scope `read` allows only GET. */
export type ApiToken = { name: string; token: string; scope: 'admin' | 'read' };
/** W3C RTCIceServer. */
export type IceServer = { urls: string | readonly string[]; username?: string | undefined; credential?: string | undefined };
export type S3Settings = {
  bucket: string;
  region: string | null;
  endpoint: string | null;
  accessKeyId: string;
  secretAccessKey: string;
  pathPrefix: string | null;
};

/** Effective settings. Times are milliseconds, except those of `roomDefaults`, which are seconds as in REST. */
export type ReloadableSettings = {
  apiTokens: readonly ApiToken[];
  /** The first key signs, all verify. Empty if unset: then keys are random and valid on this node only. */
  secretKeys: readonly string[];
  componentsUsed: readonly ComponentType[];
  logLevel: LogLevel;
  /** Origins, or one `*`. */
  corsOrigins: readonly string[];
  iceServers: readonly IceServer[];
  /** Whether requests may name private addresses: S3 storages, registrars, and webhook receivers without a separate rule. */
  allowPrivateAddresses: boolean;
  /** All `secrets` sign, for rotation. */
  webhooks: { urls: readonly string[]; secrets: readonly string[]; maxAge: number; allowPrivate: boolean };
  limits: {
    maxRooms: number | null;
    maxPeersPerRoom: number;
    maxTracksPerPeer: number;
    /** Requests per second and client; null = no limit. */
    rateLimitApi: number | null;
    rateLimitSocket: number | null;
    /** Maximum bytes of the webhook spool. */
    pendingMaxBytes: number;
    /** Maximum bytes of JSON in one message of a peer. */
    dataMessageMaxBytes: number;
  };
  timeouts: {
    peerResumeWindow: number;
    /** null = unset: uploaded recordings are deleted after a day, others never. */
    rawRecordingTtl: number | null;
  };
  /** Seconds; null = never. */
  roomDefaults: { peerDisconnectedTimeout: number | null; peerlessPurgeTimeout: number | null };
  s3: S3Settings | null;
  /** Bit/s per peer. */
  webrtc: { maxIncomingBitrate: number | null };
  /** Cores that components may use by estimate. */
  avMaxCpu: number;
};

const apiToken = z.strictObject({
  name: value.stringMatching('to be a name of 1 to 64 characters', (text) => /^[\w .:@-]{1,64}$/.test(text)),
  token: value.bearerToken,
  scope: value.oneOf(['admin', 'read']),
});

const iceUrl = value.stringMatching('to be a stun:, stuns:, turn: or turns: URL', (text) =>
  /^(stuns?|turns?):[^\s/?#]+(\?transport=(udp|tcp))?$/.test(text),
);
const iceServer = z
  .strictObject({
    urls: z.union([iceUrl, z.array(iceUrl).min(1).max(8)], { error: 'to be a stun:, stuns:, turn: or turns: URL, or a list of them' }),
    username: value.stringMatching('to be text', () => true).optional(),
    credential: value.stringMatching('to be text', () => true).optional(),
  })
  .refine(
    (server) =>
      ![server.urls].flat().some((url) => url.startsWith('turn')) || (server.username !== undefined && server.credential !== undefined),
    {
      error: 'to have username and credential if a URL is turn: or turns:',
    },
  );

/** 0 and null both mean never. */
const roomTimeout = value.integer(0, maxTimeout, 'a number of seconds').nullable();
const perSecond = value.integer(1, 1_000_000).nullable();
const cpu = 'to be a number of cores, 0 to 1024';
const objectKey = value.stringMatching(objectPrefixRule, isObjectPrefix);

const readToken = apiToken.omit({ scope: true }).transform((token) => ({ ...token, scope: 'read' as const }));

/** A configuration file. Every name is optional; unknown names are rejected. Times are seconds. */
export const fileSchema = z.strictObject({
  apiTokens: value.listOf(apiToken, 100, 'to be a list of tokens').min(1, { error: 'to have at least one token' }).optional(),
  apiReadTokens: value.listOf(readToken, 100, 'to be a list of tokens').optional(),
  secretKeys: value.listOf(value.secretText, 16, 'to be a list of keys').min(1, { error: 'to have at least one key' }).optional(),
  componentsUsed: value
    .listOf(value.oneOf(componentTypeNames), componentTypeNames.length, `to be a list of ${componentTypeNames.join(', ')}`)
    .optional(),
  logLevel: value.oneOf(['error', 'warning', 'info', 'debug']).optional(),
  corsOrigins: value.listOf(value.corsOrigin, 100, 'to be a list of origins').optional(),
  iceServers: value.listOf(iceServer, 16, 'to be a list of {urls, username, credential}').optional(),
  allowPrivateAddresses: value.boolean.optional(),
  webhooks: z
    .strictObject({
      urls: value.listOf(value.httpUrl, 16, 'to be a list of http or https URLs').optional(),
      secret: value.webhookSecrets.optional(),
      maxAge: value.seconds(1).optional(),
      allowPrivate: value.boolean.optional(),
    })
    .optional(),
  limits: z
    .strictObject({
      maxRooms: value.integer(0, 1_000_000).nullable().optional(),
      maxPeersPerRoom: value.integer(1, 1_000_000).optional(),
      maxTracksPerPeer: value.integer(1, 10_000).optional(),
      rateLimitApi: perSecond.optional(),
      rateLimitSocket: perSecond.optional(),
      pendingMaxBytes: value.integer(1, Number.MAX_SAFE_INTEGER, 'a number of bytes').optional(),
      dataMessageMaxBytes: value.integer(1, 256 * 1024, 'a number of bytes').optional(),
    })
    .optional(),
  timeouts: z
    .strictObject({
      peerResumeWindow: value.seconds(0, 86_400).optional(),
      rawRecordingTtl: value
        .integer(1, maxTimeout, 'a number of seconds')
        .transform((seconds) => seconds * 1000)
        .nullable()
        .optional(),
    })
    .optional(),
  roomDefaults: z
    .strictObject({ peerDisconnectedTimeout: roomTimeout.optional(), peerlessPurgeTimeout: roomTimeout.optional() })
    .optional(),
  s3: z
    .strictObject({
      bucket: value.stringMatching('to be the name of a bucket', (text) => /^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/.test(text)).optional(),
      region: value.stringMatching('to be the name of a region', (text) => /^[A-Za-z0-9-]{1,64}$/.test(text)).optional(),
      endpoint: value.endpointUrl.optional(),
      accessKeyId: value.secretText.optional(),
      secretAccessKey: value.secretText.optional(),
      pathPrefix: objectKey.optional(),
    })
    .optional(),
  webrtc: z
    .strictObject({ maxIncomingBitrate: value.integer(1, 10_000_000_000, 'a number of bits per second').nullable().optional() })
    .optional(),
  avMaxCpu: z.number({ error: cpu }).min(0, { error: cpu }).max(1024, { error: cpu }).optional(),
});
export type FileSettings = z.infer<typeof fileSchema>;
