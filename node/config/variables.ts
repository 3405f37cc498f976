// Table of all variables: format, default, value in the image, name in files, and meaning.
import { z } from 'zod';
import { componentTypeNames } from '../../api/component/types.ts';
import * as value from './values.ts';

/** How the text of a variable becomes a value: unchanged, a number, true or false, words separated by spaces, JSON. */
export type ValueFormat = 'text' | 'number' | 'flag' | 'words' | 'json';
export type Row = {
  form: ValueFormat;
  /** As written in the environment. */
  default?: string;
  /** Description of the default, if it is not fixed. */
  derived?: string;
  /** Value in the image. */
  image?: string;
  /** Never shown, not even in errors. */
  secret?: true;
  meaning: string;
};
/** `path`: its name in configuration files. */
export type ReloadableVariable = Row & { path: string };

const cold = <Schema extends z.ZodType, const R extends Row>(schema: Schema, row: R) => ({ ...row, schema });

const milliseconds = value.integer(100, 86_400_000, 'a number of milliseconds');
const number = 'number';
const text = 'text';

/** Static settings, which need a restart. */
export const staticVariables = {
  IP: cold(value.ipAddress, {
    form: text,
    default: '127.0.0.1',
    image: '0.0.0.0',
    meaning: 'Address on which REST, sockets, content and console listen.',
  }),
  PORT: cold(value.listenPort, { form: number, default: '5002', image: '8080', meaning: 'Port of IP; 0 selects any free port.' }),
  HOST: cold(value.publicAddress, {
    form: text,
    derived: '`<ip>:<port>`; if IP is a wildcard, the host of the node name, else the address of the default route, with a warning',
    meaning: 'Address that clients receive: `host[:port][/path]`, IPv6 in brackets, no scheme.',
  }),
  INTERNAL_ADDRESS: cold(value.internalAddress, {
    form: text,
    derived: 'the default of HOST',
    meaning: 'Address at which other nodes reach this node over HTTP: `host[:port]`.',
  }),
  METRICS_IP: cold(value.ipAddress, {
    form: text,
    default: '127.0.0.1',
    image: '0.0.0.0',
    meaning: 'Address on which Prometheus metrics are served.',
  }),
  METRICS_PORT: cold(value.listenPort, { form: number, default: '9568', meaning: 'Port of METRICS_IP; 0 selects any free port.' }),
  STRUCTURED_LOGGING: cold(value.boolean, { form: 'flag', default: 'false', image: 'true', meaning: 'Log JSON lines instead of text.' }),
  RESOURCES_BASE_PATH: cold(value.filePath, {
    form: text,
    default: './svc_resources',
    image: '/var/lib/mediarooms',
    meaning: 'Directory of recordings, streams and file sources; created if missing; must be writable.',
  }),
  SSL_KEY_PATH: cold(value.filePath, { form: text, meaning: 'TLS key (PEM); reloaded when the file changes. Both of SSL_* or neither.' }),
  SSL_CERT_PATH: cold(value.filePath, { form: text, meaning: 'TLS certificate chain (PEM).' }),
  CHECK_ORIGIN: cold(value.checkOrigin, {
    form: 'words',
    default: 'false',
    meaning: 'Accepted Origin of browsers on sockets: `false` any, `true` the same host or HOST, or a list of origins.',
  }),
  TRUST_PROXY: cold(value.trustProxy, {
    form: 'words',
    default: 'false',
    meaning:
      'Proxies whose X-Forwarded-For is trusted: `1` for one proxy in front of the node, `2` for two; networks (CIDR) of proxies; or a number and networks.',
  }),
  WEBRTC_TURN_LISTEN_IP: cold(value.ipOrHost, {
    form: text,
    default: '127.0.0.1',
    image: '0.0.0.0',
    meaning: 'Address on which media and TURN listen: IP address, or host name that is resolved at start.',
  }),
  WEBRTC_TURN_IP: cold(z.array(value.ipOrHost).min(1).max(8, { error: 'to have at most 8 entries' }), {
    form: 'words',
    derived: 'the listen address; if that is a wildcard, the address of the default route, with a warning',
    meaning:
      'Addresses announced to clients: IP addresses or host names (resolved at start); all after the first are additional candidates.',
  }),
  WEBRTC_TURN_IP_FILE: cold(value.filePath, {
    form: text,
    meaning: 'File that contains the value of WEBRTC_TURN_IP; watched; the node is not ready while it is empty.',
  }),
  WEBRTC_BASE_PORT: cold(value.integer(1, 65_535, 'a port'), {
    form: number,
    derived: 'the first free block from 50000',
    image: '50000',
    meaning: 'Worker *i* uses UDP and TCP port base+*i*; if set and in use, the start fails.',
  }),
  WEBRTC_WORKERS: cold(value.integer(1, 256), {
    form: number,
    derived: 'cores that the process may use',
    meaning: 'Number of media worker processes.',
  }),
  WEBRTC_TURN_ENABLED: cold(value.boolean, {
    form: 'flag',
    default: 'false',
    meaning: 'Run coturn next to the node; it relays only to the media address of this node (any UDP port of it).',
  }),
  WEBRTC_TURN_PORT: cold(value.port, { form: number, default: '3478', meaning: 'Port of TURN over UDP and TCP.' }),
  WEBRTC_TURN_TLS_PORT: cold(value.port, { form: number, meaning: 'Port of TURN over TLS; needs a certificate.' }),
  WEBRTC_TURN_TLS_KEY_PATH: cold(value.filePath, {
    form: text,
    derived: 'the value of SSL_KEY_PATH',
    meaning: 'TLS key of TURN (PEM). Both of TURN_TLS_*_PATH or neither.',
  }),
  WEBRTC_TURN_TLS_CERT_PATH: cold(value.filePath, {
    form: text,
    derived: 'the value of SSL_CERT_PATH',
    meaning: 'TLS certificate chain of TURN (PEM); reloaded when the file changes.',
  }),
  WEBRTC_TURN_TLS_HOST: cold(value.wildcardHost, {
    form: text,
    derived: 'the announced address; with the certificate of SSL_* the host of HOST',
    meaning:
      'Host of TURN over TLS, as in the certificate; a leading `*` is replaced with the announced address, `203-0-113-7` for 203.0.113.7.',
  }),
  SIP_IP: cold(value.ipAddress, {
    form: text,
    derived: 'the announced address',
    meaning: 'Address in Via, Contact and SDP of `sip` components.',
  }),
  SIP_PORT: cold(value.portOrRange, {
    form: text,
    default: '5060-5259',
    meaning:
      'UDP ports of SIP, `<first>-<last>` or the first alone: each `sip` component that registers over UDP uses the first free port. Over TCP and TLS it only connects out.',
  }),
  SIP_RTP_PORTS: cold(value.portRange, {
    form: text,
    default: '10000-10019',
    meaning: 'UDP ports of phone calls, one for each call of all `sip` components of the node.',
  }),
  DIST_ENABLED: cold(value.boolean, { form: 'flag', default: 'false', meaning: 'Join other nodes into a cluster.' }),
  DIST_MODE: cold(value.oneOf(['sname', 'name']), {
    form: text,
    default: 'sname',
    meaning: 'Node names with short hosts (no dot) or with full host names and IP addresses.',
  }),
  DIST_NODE_NAME: cold(value.nodeName, {
    form: text,
    derived: '`svc@<hostname>`; with DNS `svc@<ip>`',
    meaning: 'Name of this node: `<nodename>@<host>`.',
  }),
  DIST_STRATEGY_NAME: cold(value.oneOf(['NODES_LIST', 'DNS']), {
    form: text,
    default: 'NODES_LIST',
    meaning: 'How other nodes are found: `NODES_LIST` or `DNS`.',
  }),
  DIST_NODES: cold(z.array(value.nodeName).max(1000, { error: 'to have at most 1000 entries' }), {
    form: 'words',
    meaning: 'Node names to connect to, separated by spaces (NODES_LIST).',
  }),
  DIST_QUERY: cold(value.hostName, { form: text, meaning: 'Host name under which all nodes are registered (DNS).' }),
  DIST_POLLING_INTERVAL: cold(milliseconds, {
    form: number,
    default: '5000',
    meaning: 'Milliseconds between DNS queries; between the first six at most a second.',
  }),
  DIST_MIN_PORT: cold(value.port, {
    form: number,
    derived: 'any free port',
    image: '9000',
    meaning: 'First port of the range for connections between nodes.',
  }),
  DIST_MAX_PORT: cold(value.port, {
    form: number,
    derived: 'any free port',
    image: '9000',
    meaning: 'Last port of the range for connections between nodes.',
  }),
  DIST_COOKIE: cold(
    value.stringMatching('to be 1 to 255 visible ASCII characters without spaces', (cookie) => /^[\x21-\x7e]{1,255}$/.test(cookie)),
    {
      form: text,
      derived: 'derived from SECRET_KEY_BASE; without that `svc_cookie`, on loopback only',
      secret: true,
      meaning: 'Shared secret of the cluster. Choose a long random value: an attacker who can read the traffic can guess offline.',
    },
  ),
  DIST_ERLANG: cold(value.boolean, {
    form: 'flag',
    default: 'false',
    meaning:
      'Also dial Erlang nodes and nodes before 0.8: the dialed process can reuse their proof of the cookie elsewhere. Such nodes may always dial this node.',
  }),
  DIST_TLS: cold(value.oneOf(['off', 'optional', 'required']), {
    form: text,
    default: 'off',
    meaning: 'TLS between nodes, both sides with certificates; `optional` also accepts plain connections, for the transition of a cluster.',
  }),
  DIST_TLS_CA: cold(value.filePath, {
    form: text,
    meaning:
      'Certificate of the authority of the cluster (PEM): every process with a certificate of it is a node. Reloaded when it changes.',
  }),
  DIST_TLS_CERT: cold(value.filePath, {
    form: text,
    meaning: 'Certificate of this node as client and server (PEM); it need not contain its name, and nodes may share one.',
  }),
  DIST_TLS_KEY: cold(value.filePath, { form: text, meaning: 'Key of the certificate (PEM).' }),
  DIST_IP: cold(value.ipAddress, {
    form: text,
    derived: 'the address of the node in name mode, else all; loopback if distribution is off or has the cookie `svc_cookie`',
    meaning: 'Address on which distribution and EPMD listen.',
  }),
  DIST_TICK: cold(value.seconds(1, 86_400), {
    form: number,
    default: '60',
    meaning: 'Seconds; a node without heartbeat is lost after 1 to 1.25 ticks, or after 10 s if another node needs it.',
  }),
  DRAIN_TIMEOUT: cold(value.seconds(0), {
    form: number,
    default: '0',
    image: '3600',
    meaning: 'Maximum seconds that a shutdown waits for rooms; 0: rooms end at once.',
  }),
  SHUTDOWN_DELAY: cold(value.seconds(0, 300), {
    form: number,
    default: '0',
    image: '5',
    meaning: 'Minimum seconds after SIGTERM that a node of a cluster responds to HTTP, so that Ingress and load balancers can remove it.',
  }),
  CONFIG_FILES: cold(z.array(value.filePath).max(16, { error: 'to have at most 16 entries' }), {
    form: 'words',
    meaning: 'YAML files with reloadable settings (R), separated by spaces, merged in order; watched.',
  }),
  GIT_COMMIT: cold(
    value.stringMatching('to be up to 64 letters, digits and ._-', (commit) => /^[\w.-]{1,64}$/.test(commit)),
    {
      form: text,
      derived: 'from git, else `unknown`',
      meaning: 'Shown by /health.',
    },
  ),
};
export type StaticName = keyof typeof staticVariables;
export type StaticValue<Name extends StaticName> = (typeof staticVariables)[Name] extends { default: string }
  ? z.output<(typeof staticVariables)[Name]['schema']>
  : z.output<(typeof staticVariables)[Name]['schema']> | undefined;

/** Reloadable settings (R). Values are validated by the schema of files. `none` in the environment is `null` in a file. */
export const reloadableVariables = {
  SERVER_API_TOKEN: {
    path: 'apiTokens',
    form: 'words',
    derived: 'if IP and HOST are loopback (development mode), a random token for each start, which is printed; else required',
    secret: true,
    meaning: 'Bearer tokens, separated by spaces: all are valid (rotation). In a file: a list of `{name, token, scope: admin or read}`.',
  },
  SERVER_API_READ_TOKEN: {
    path: 'apiReadTokens',
    form: 'words',
    secret: true,
    meaning:
      'Read-only bearer tokens, separated by spaces: every GET, events and content; other requests get 403. In a file: a list of `{name, token}`.',
  },
  SECRET_KEY_BASE: {
    path: 'secretKeys',
    form: 'words',
    derived: 'random: tokens are valid only on this node, until it ends',
    secret: true,
    meaning: 'Roots of all keys, separated by spaces, the same on every node: the first signs, all verify.',
  },
  COMPONENTS_USED: {
    path: 'componentsUsed',
    form: 'words',
    meaning: `Component types that may be added: \`${componentTypeNames.join(' ')}\`.`,
  },
  LOG_LEVEL: { path: 'logLevel', form: 'text', default: 'info', meaning: '`error`, `warning`, `info` or `debug`.' },
  CORS_ORIGINS: {
    path: 'corsOrigins',
    form: 'words',
    derived: '`*`; in development mode none',
    meaning: 'Origins whose pages may use the REST API; `*` = all.',
  },
  ICE_SERVERS: {
    path: 'iceServers',
    form: 'json',
    secret: true,
    meaning: 'JSON array of additional STUN and TURN servers for clients (RTCIceServer).',
  },
  WEBRTC_MAX_INCOMING_BITRATE: {
    path: 'webrtc.maxIncomingBitrate',
    form: 'number',
    default: 'none',
    meaning: 'Bit/s that a peer may send.',
  },
  S3_BUCKET: { path: 's3.bucket', form: 'text', meaning: 'Default S3 storage. Bucket and both keys, or none.' },
  S3_REGION: { path: 's3.region', form: 'text', meaning: 'Region of the bucket.' },
  S3_ENDPOINT: { path: 's3.endpoint', form: 'text', meaning: "URL of an S3 storage other than Amazon's." },
  S3_ACCESS_KEY_ID: { path: 's3.accessKeyId', form: 'text', secret: true, meaning: 'Key id for S3.' },
  S3_SECRET_ACCESS_KEY: { path: 's3.secretAccessKey', form: 'text', secret: true, meaning: 'Secret key for S3.' },
  S3_PATH_PREFIX: { path: 's3.pathPrefix', form: 'text', meaning: 'Prefix of the key of every object.' },
  PEER_RESUME_WINDOW: {
    path: 'timeouts.peerResumeWindow',
    form: 'number',
    default: '10',
    meaning:
      'Seconds that a peer keeps its media after its socket is lost, before it counts as disconnected; at most the `peerDisconnectedTimeout` of its room.',
  },
  PEER_DISCONNECTED_TIMEOUT: {
    path: 'roomDefaults.peerDisconnectedTimeout',
    form: 'number',
    default: '120',
    meaning: 'Seconds from the loss of its connection until a peer is removed, for rooms without this option; 0 or `none` = never.',
  },
  PEERLESS_PURGE_TIMEOUT: {
    path: 'roomDefaults.peerlessPurgeTimeout',
    form: 'number',
    default: 'none',
    meaning: 'Seconds without a connected peer after which a room ends, for rooms without this option; 0 or `none` = never.',
  },
  RAW_RECORDING_TTL: {
    path: 'timeouts.rawRecordingTtl',
    form: 'number',
    derived: '86400 for uploaded recordings; else never',
    meaning: 'Seconds after which local recordings are deleted; never before a pending upload is done.',
  },
  ALLOW_PRIVATE_ADDRESSES: {
    path: 'allowPrivateAddresses',
    form: 'flag',
    default: 'true',
    image: 'false',
    meaning: 'Whether requests may name S3 storages, SIP registrars and webhook receivers at loopback, private and link-local addresses.',
  },
  WEBHOOK_URLS: {
    path: 'webhooks.urls',
    form: 'words',
    secret: true,
    meaning: 'Receivers of the events of all rooms, separated by spaces.',
  },
  WEBHOOK_SECRET: {
    path: 'webhooks.secret',
    form: 'words',
    secret: true,
    meaning:
      'Signing key: `whsec_` and base64 (Standard Webhooks); several keys, separated by spaces, all sign, for rotation (a list in files).',
  },
  WEBHOOK_MAX_AGE: { path: 'webhooks.maxAge', form: 'number', default: '86400', meaning: 'Seconds for which a delivery is retried.' },
  WEBHOOK_ALLOW_PRIVATE: {
    path: 'webhooks.allowPrivate',
    form: 'flag',
    derived: 'the value of ALLOW_PRIVATE_ADDRESSES',
    meaning: 'The same, only for webhooks.',
  },
  MAX_ROOMS: { path: 'limits.maxRooms', form: 'number', default: 'none', meaning: 'Rooms on this node.' },
  MAX_PEERS_PER_ROOM: { path: 'limits.maxPeersPerRoom', form: 'number', default: '500', meaning: 'Peers in a room, whatever it requests.' },
  MAX_TRACKS_PER_PEER: { path: 'limits.maxTracksPerPeer', form: 'number', default: '32', meaning: 'Tracks that a peer may publish.' },
  RATE_LIMIT_API: {
    path: 'limits.rateLimitApi',
    form: 'number',
    default: 'none',
    meaning: 'REST requests per second, of each client and of each token.',
  },
  RATE_LIMIT_SOCKET: {
    path: 'limits.rateLimitSocket',
    form: 'number',
    default: '50',
    meaning: 'Messages per second and socket, without responses to announced tracks; `none` = no limit.',
  },
  PENDING_MAX_BYTES: {
    path: 'limits.pendingMaxBytes',
    form: 'number',
    default: '268435456',
    meaning:
      'Bytes of pending webhook deliveries, an eighth of it for one room; beyond it the oldest deliveries of the room with the most become dead letters.',
  },
  DATA_MESSAGE_MAX_BYTES: {
    path: 'limits.dataMessageMaxBytes',
    form: 'number',
    default: '16384',
    meaning:
      'Maximum bytes of JSON in a message of a peer (`sendData`). A peer may send 16 messages of this size a second, and a room deliver 512; if it is less than 16 KiB, messages of 16 KiB count.',
  },
  AV_MAX_CPU: {
    path: 'avMaxCpu',
    form: 'number',
    derived: 'cores - 0.5',
    meaning: 'Estimated cores that components which decode or encode may use; further components are rejected.',
  },
} as const satisfies Record<string, ReloadableVariable>;
export type ReloadableName = keyof typeof reloadableVariables;

export const reloadableRows: readonly (ReloadableVariable & { name: ReloadableName })[] = Object.entries(reloadableVariables).map(
  ([name, row]) => ({
    ...row,
    name: name as ReloadableName,
  }),
);
export const knownNames: ReadonlySet<string> = new Set([...Object.keys(staticVariables), ...Object.keys(reloadableVariables)]);
