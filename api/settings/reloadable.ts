// Reloadable settings: every variable once. The tree is that of configuration files and of `spec.config` of a MediaCluster.
import { z } from 'zod';
import { componentTypeNames } from '../component/types.ts';
import { kube } from '../core/kube.ts';
import { group, type SettingValues, setting } from '../core/setting.ts';
import { maxTimeout, roomFields } from '../room.ts';
import { accessKeys, accessKeysOf } from './access-keys.ts';
import * as value from './values.ts';

const apiToken = z.strictObject({
  name: value.tokenName,
  token: value.bearerToken,
  scope: value.oneOf(['admin', 'read']),
});
const readToken = apiToken.omit({ scope: true }).transform((token) => ({ ...token, scope: 'read' as const }));

const iceUrlOrUrls = z.union([value.iceUrl, z.array(value.iceUrl).min(1).max(8)], {
  error: 'to be a stun:, stuns:, turn: or turns: URL, or a list of them',
});
const iceServer = z
  .strictObject({
    urls: iceUrlOrUrls,
    username: value.iceText.optional(),
    credential: value.iceText.optional(),
  })
  .refine(
    (server) =>
      ![server.urls].flat().some((url) => url.startsWith('turn')) || (server.username !== undefined && server.credential !== undefined),
    { error: 'to have username and credential if a URL is turn: or turns:' },
  );

const componentTypes = value
  .listOf(value.oneOf(componentTypeNames), componentTypeNames.length, `to be a list of ${componentTypeNames.join(', ')}`)
  .register(kube, { set: true });
const cores = 'to be a number of cores, 0 to 1024';
const perSecond = value.integer(1, 1_000_000).nullable();
/** Seconds; 0 and null both mean never. */
const roomTimeout = value
  .integer(0, maxTimeout, 'a number of seconds')
  .nullable()
  .transform((seconds) => seconds || null);
const recordingTtl = value
  .integer(1, maxTimeout, 'a number of seconds')
  .transform((seconds) => seconds * 1000)
  .nullable();

const words = (text: string) => text.split(/\s+/);
/** Tokens of a variable have no names. */
const tokens = (name: string, more: { scope?: 'admin' }) => (text: string) => {
  const all = [...new Set(words(text))];
  return all.map((token, index) => ({ name: all.length === 1 ? name : `${name} ${index + 1}`, token, ...more }));
};

export const reloadableSettings = {
  apiTokens: setting(
    'SERVER_API_TOKEN',
    value.listOf(apiToken, value.maxTokens, 'to be a list of tokens').min(1, { error: 'to have at least one token' }),
    'Bearer tokens, separated by spaces: all are valid (rotation). In a file: a list of `{name, token, scope: admin or read}`.',
    {
      derived: 'if IP and HOST are loopback (development mode), a random token for each start, which is printed; else required',
      secret: true,
      fromSecret: true,
      fromEnv: tokens('environment', { scope: 'admin' }),
    },
  ),
  apiReadTokens: setting(
    'SERVER_API_READ_TOKEN',
    value.listOf(readToken, value.maxTokens, 'to be a list of tokens'),
    'Read-only bearer tokens, separated by spaces: every GET, events and content; other requests get 403. In a file: a list of `{name, token}`.',
    { secret: true, fromSecret: true, fromEnv: tokens('environment read', {}) },
  ),
  secretKeys: setting(
    'SECRET_KEY_BASE',
    value.listOf(value.secretText, 16, 'to be a list of keys').min(1, { error: 'to have at least one key' }),
    'Roots of all keys, separated by spaces, the same on every node: the first signs, all verify.',
    { derived: 'random: tokens are valid only on this node, until it ends', secret: true, fromSecret: true },
  ),
  accessKeys: setting(
    'ACCESS_KEYS',
    accessKeys,
    'Keys of backends that sign access tokens, separated by spaces: `id=secret`. In a file: a list of `{id, secret}` or `{id, publicKey}`.',
    { derived: 'none', secret: true, fromSecret: true, fromEnv: accessKeysOf },
  ),
  componentsUsed: setting('COMPONENTS_USED', componentTypes, `Component types that may be added: \`${componentTypeNames.join(' ')}\`.`, {
    derived: 'none',
  }),
  logLevel: setting('LOG_LEVEL', value.oneOf(['error', 'warning', 'info', 'debug']), '`error`, `warning`, `info` or `debug`.', {
    default: 'info',
  }),
  corsOrigins: setting(
    'CORS_ORIGINS',
    value.listOf(value.corsOrigin, 100, 'to be a list of origins'),
    'Origins whose pages may use the REST API; `*` = all.',
    {
      derived: '`*`; in development mode none',
      cluster: { doc: 'Origins whose pages may call the REST API; all (`*`) if omitted.' },
    },
  ),
  iceServers: setting(
    'ICE_SERVERS',
    value.listOf(iceServer, 16, 'to be a list of {urls, username, credential}'),
    'JSON array of additional STUN and TURN servers for clients (RTCIceServer).',
    { secret: true, cluster: { doc: 'Additional STUN and TURN servers for clients.' } },
  ),
  allowPrivateAddresses: setting(
    'ALLOW_PRIVATE_ADDRESSES',
    value.boolean,
    'Whether requests may name S3 storages, SIP registrars and webhook receivers at loopback, private and link-local addresses.',
    { default: true, image: 'false' },
  ),
  webhooks: group('Webhooks; their signing keys are in secrets.webhooks.', {
    urls: setting(
      'WEBHOOK_URLS',
      value.listOf(value.httpUrl, 16, 'to be a list of http or https URLs'),
      'Receivers of the events of all rooms, separated by spaces.',
      { secret: true, cluster: { doc: 'Receivers of the events of all rooms.' } },
    ),
    livekitUrls: setting(
      'WEBHOOK_LIVEKIT_URLS',
      value.listOf(value.httpUrl, 16, 'to be a list of http or https URLs'),
      "Receivers of the events of all rooms in LiveKit's form, separated by spaces; requires LIVEKIT_ENABLED, and an access key with a secret, the first of which signs.",
      {
        secret: true,
        cluster: {
          doc: "Receivers of the events of all rooms in LiveKit's form; requires spec.livekit.enabled, and an access key with a secret.",
        },
      },
    ),
    secret: setting(
      'WEBHOOK_SECRET',
      value.webhookSecrets,
      'Signing key: `whsec_` and base64 (Standard Webhooks); several keys, separated by spaces, all sign, for rotation (a list in files).',
      { secret: true, fromSecret: true, fromEnv: words },
    ),
    // The node keeps it in one timer, whose maximum is that of seconds().
    maxAge: setting('WEBHOOK_MAX_AGE', value.seconds(1), 'Seconds for which a delivery is retried.', { default: 86_400 }),
    allowPrivate: setting('WEBHOOK_ALLOW_PRIVATE', value.boolean, 'The same, only for webhooks.', {
      derived: 'the value of ALLOW_PRIVATE_ADDRESSES',
      cluster: {
        doc: 'Whether webhooks may be sent to loopback and private addresses; config.allowPrivateAddresses decides if omitted.',
      },
    }),
  }),
  limits: group('Limits.', {
    maxRooms: setting('MAX_ROOMS', value.integer(0, 1_000_000).nullable(), 'Rooms on this node.', { default: null, derived: 'no limit' }),
    maxPeersPerRoom: setting('MAX_PEERS_PER_ROOM', value.integer(1, 1_000_000), 'Peers in a room, whatever it requests.', { default: 500 }),
    maxTracksPerPeer: setting('MAX_TRACKS_PER_PEER', value.integer(1, 10_000), 'Tracks that a peer may publish.', { default: 32 }),
    rateLimitApi: setting('RATE_LIMIT_API', perSecond, 'REST requests per second, of each client and of each token.', {
      default: null,
      derived: 'no limit',
    }),
    rateLimitSocket: setting(
      'RATE_LIMIT_SOCKET',
      perSecond,
      'Messages per second and socket, without responses to announced tracks; `none` = no limit.',
      { default: 50 },
    ),
    pendingMaxBytes: setting(
      'PENDING_MAX_BYTES',
      value.integer(1, Number.MAX_SAFE_INTEGER, 'a number of bytes'),
      'Bytes of pending webhook deliveries, an eighth of it for one room; beyond it the oldest deliveries of the room with the most become dead letters.',
      { default: 268_435_456 },
    ),
    dataMessageMaxBytes: setting(
      'DATA_MESSAGE_MAX_BYTES',
      value.integer(1, 256 * 1024, 'a number of bytes'),
      'Maximum bytes of JSON in a message of a peer (`sendData`). A peer may send 16 messages of this size a second, and a room deliver 512; if it is less than 16 KiB, messages of 16 KiB count.',
      { default: 16_384 },
    ),
  }),
  timeouts: group('Timeouts.', {
    peerResumeWindow: setting(
      'PEER_RESUME_WINDOW',
      value.seconds(0, 86_400),
      'Seconds that a peer keeps its media after its socket is lost, before it counts as disconnected; at most the `peerDisconnectedTimeout` of its room.',
      { default: 10 },
    ),
    accessTokenMaxTtl: setting(
      'ACCESS_TOKEN_MAX_TTL',
      value.seconds(60, 31_536_000),
      'Maximum seconds for which an access token may be valid; tokens that are valid for longer are rejected.',
      { default: 86_400 },
    ),
    rawRecordingTtl: setting(
      'RAW_RECORDING_TTL',
      recordingTtl,
      'Seconds after which local recordings are deleted; never before a pending upload is done.',
      {
        derived: '86400 for uploaded recordings; else never',
        cluster: { doc: 'Seconds after which local recordings are deleted; a day after their upload if omitted.' },
      },
    ),
  }),
  roomDefaults: group('Default timeouts of rooms.', {
    peerDisconnectedTimeout: setting(
      'PEER_DISCONNECTED_TIMEOUT',
      roomTimeout,
      'Seconds from the loss of its connection until a peer is removed, for rooms without this option; 0 or `none` = never.',
      { default: roomFields.peerDisconnectedTimeout.nodeDefault },
    ),
    peerlessPurgeTimeout: setting(
      'PEERLESS_PURGE_TIMEOUT',
      roomTimeout,
      'Seconds without a connected peer after which a room ends, for rooms without this option; 0 or `none` = never.',
      { default: roomFields.peerlessPurgeTimeout.nodeDefault, derived: 'never' },
    ),
  }),
  s3: group('Default S3 storage; its keys are in secrets.s3.', {
    bucket: setting('S3_BUCKET', value.bucketName, 'Default S3 storage. Bucket and both keys, or none.', {
      cluster: { doc: 'Bucket.', required: true },
    }),
    region: setting('S3_REGION', value.regionName, 'Region of the bucket.'),
    endpoint: setting('S3_ENDPOINT', value.endpointUrl, "URL of an S3 storage other than Amazon's."),
    accessKeyId: setting('S3_ACCESS_KEY_ID', value.secretText, 'Key id for S3.', { secret: true, fromSecret: true }),
    secretAccessKey: setting('S3_SECRET_ACCESS_KEY', value.secretText, 'Secret key for S3.', { secret: true, fromSecret: true }),
    pathPrefix: setting('S3_PATH_PREFIX', value.objectPrefix, 'Prefix of the key of every object.'),
  }),
  webrtc: group('Media.', {
    maxIncomingBitrate: setting(
      'WEBRTC_MAX_INCOMING_BITRATE',
      value.integer(1, 10_000_000_000, 'a number of bits per second').nullable(),
      'Bit/s that a peer may send.',
      { default: null, derived: 'no limit' },
    ),
    maxWorkerTracks: setting(
      'WORKER_MAX_TRACKS',
      value.integer(1, 1_000_000, 'a number of tracks').nullable(),
      'Forwarded tracks of a media worker from which new peers of a room get another worker; without it, a room has one worker.',
      { default: null, derived: 'no limit' },
    ),
  }),
  avMaxCpu: setting(
    'AV_MAX_CPU',
    z.number({ error: cores }).min(0, { error: cores }).max(1024, { error: cores }),
    'Estimated cores that components which decode or encode may use; further components are rejected.',
    { derived: 'cores - 0.5' },
  ),
};
export type ReloadableTree = typeof reloadableSettings;
/** Effective values by their names in files. */
export type ReloadableValues = SettingValues<ReloadableTree>;
