// Static settings, which need a restart: every variable once.
import { z } from 'zod';
import { type SettingValue, setting } from '../core/setting.ts';
import * as value from './values.ts';

const milliseconds = value.integer(100, 86_400_000, 'a number of milliseconds');

export const staticSettings = [
  setting('IP', value.ipAddress, 'Address on which REST, sockets, content and console listen.', { default: '127.0.0.1', image: '0.0.0.0' }),
  setting('PORT', value.listenPort, 'Port of IP; 0 selects any free port.', { default: 5002, image: '8080' }),
  setting('HOST', value.publicAddress, 'Address that clients receive: `host[:port][/path]`, IPv6 in brackets, no scheme.', {
    derived: '`<ip>:<port>`; if IP is a wildcard, the host of the node name, else the address of the default route, with a warning',
  }),
  setting('INTERNAL_ADDRESS', value.internalAddress, 'Address at which other nodes reach this node over HTTP: `host[:port]`.', {
    derived: 'the default of HOST',
  }),
  setting('METRICS_IP', value.ipAddress, 'Address on which Prometheus metrics are served.', { default: '127.0.0.1', image: '0.0.0.0' }),
  setting('METRICS_PORT', value.listenPort, 'Port of METRICS_IP; 0 selects any free port.', { default: 9568 }),
  setting(
    'TRACES_ENDPOINT',
    value.collectorUrl,
    'Collector of OpenTelemetry to which traces are sent with OTLP over HTTP; without it, nothing is traced.',
  ),
  setting(
    'TRACES_SAMPLE_PERCENT',
    value.integer(0, 100, 'a percentage'),
    'Share of new traces that are recorded. Traces of clients that send a sampled `traceparent` are always recorded.',
    { default: 10 },
  ),
  setting('STRUCTURED_LOGGING', value.boolean, 'Log JSON lines instead of text.', { default: false, image: 'true' }),
  setting(
    'RESOURCES_BASE_PATH',
    value.filePath,
    'Directory of recordings, streams and file sources; created if missing; must be writable.',
    { default: './svc_resources', image: '/var/lib/mediarooms' },
  ),
  setting('SSL_KEY_PATH', value.filePath, 'TLS key (PEM); reloaded when the file changes. Both of SSL_* or neither.'),
  setting('SSL_CERT_PATH', value.filePath, 'TLS certificate chain (PEM).'),
  setting(
    'CHECK_ORIGIN',
    value.checkOrigin,
    'Accepted Origin of browsers on sockets: `false` any, `true` the same host or HOST, or a list of origins.',
    { default: false, fromEnv: value.flagOrWords },
  ),
  setting(
    'TRUST_PROXY',
    value.trustProxy,
    'Proxies whose X-Forwarded-For is trusted: `1` for one proxy in front of the node, `2` for two; networks (CIDR) of proxies; or a number and networks.',
    { default: false, fromEnv: value.flagOrWords },
  ),
  setting(
    'WEBRTC_TURN_LISTEN_IP',
    value.ipOrHost,
    'Address on which media and TURN listen: IP address, or host name that is resolved at start.',
    { default: '127.0.0.1', image: '0.0.0.0' },
  ),
  setting(
    'WEBRTC_TURN_IP',
    z.array(value.ipOrHost).min(1).max(8, { error: 'to have at most 8 entries' }),
    'Addresses announced to clients: IP addresses or host names (resolved at start); all after the first are additional candidates.',
    { derived: 'the listen address; if that is a wildcard, the address of the default route, with a warning' },
  ),
  setting(
    'WEBRTC_TURN_IP_FILE',
    value.filePath,
    'File that contains the value of WEBRTC_TURN_IP; watched; the node is not ready while it is empty.',
  ),
  setting(
    'WEBRTC_BASE_PORT',
    value.integer(1, 65_535, 'a port'),
    'Worker *i* uses UDP and TCP port base+*i*; if set and in use, the start fails.',
    { derived: 'the first free block from 50000', image: '50000' },
  ),
  setting('WEBRTC_WORKERS', value.integer(1, 256), 'Number of media worker processes.', { derived: 'cores that the process may use' }),
  setting('WEBRTC_BATCH', value.boolean, 'Media workers send and receive several UDP packets with one system call.', { default: true }),
  setting(
    'WEBRTC_GSO',
    value.boolean,
    'With WEBRTC_BATCH: packets of equal size for one client leave as one, which Linux or the network interface divides (UDP GSO).',
    { default: true },
  ),
  setting(
    'WEBRTC_TURN_ENABLED',
    value.boolean,
    'Run coturn next to the node; it relays only to the media address of this node (any UDP port of it).',
    { default: false },
  ),
  setting('WEBRTC_TURN_PORT', value.port, 'Port of TURN over UDP and TCP.', { default: 3478 }),
  setting('WEBRTC_TURN_TLS_PORT', value.port, 'Port of TURN over TLS; needs a certificate.'),
  setting(
    'WEBRTC_TURN_TLS_PUBLIC_PORT',
    value.port,
    'Port of TURN over TLS for clients, if a proxy forwards it without ending TLS, or a load balancer.',
    { derived: 'the value of WEBRTC_TURN_TLS_PORT' },
  ),
  setting(
    'WEBRTC_TURN_TLS_PROXY_PROTOCOL',
    value.boolean,
    'Require a PROXY protocol header (version 1 or 2) at WEBRTC_TURN_TLS_PORT, which the proxy must send; limits connections of one client network.',
    { default: false },
  ),
  setting('WEBRTC_TURN_TLS_KEY_PATH', value.filePath, 'TLS key of TURN (PEM). Both of TURN_TLS_*_PATH or neither.', {
    derived: 'the value of SSL_KEY_PATH',
  }),
  setting('WEBRTC_TURN_TLS_CERT_PATH', value.filePath, 'TLS certificate chain of TURN (PEM); reloaded when the file changes.', {
    derived: 'the value of SSL_CERT_PATH',
  }),
  setting(
    'WEBRTC_TURN_TLS_HOST',
    value.wildcardHost,
    'Host of TURN over TLS, as in the certificate; a leading `*` is replaced with the announced address, `203-0-113-7` for 203.0.113.7.',
    { derived: 'the announced address; with the certificate of SSL_* the host of HOST' },
  ),
  setting(
    'LIVEKIT_ENABLED',
    value.boolean,
    'Accept clients of LiveKit at `/rtc` and workers of its agents at `/agent`, with access tokens of ACCESS_KEYS.',
    { default: false },
  ),
  setting('SIP_IP', value.ipAddress, 'Address in Via, Contact and SDP of `sip` components.', { derived: 'the announced address' }),
  setting(
    'SIP_PORT',
    value.portOrRange,
    'UDP ports of SIP, `<first>-<last>` or the first alone: each `sip` component that registers over UDP uses the first free port. Over TCP and TLS it only connects out.',
    { default: '5060-5259' },
  ),
  setting('SIP_RTP_PORTS', value.portRange, 'UDP ports of phone calls, one for each call of all `sip` components of the node.', {
    default: '10000-10019',
  }),
  setting('DIST_ENABLED', value.boolean, 'Join other nodes into a cluster.', { default: false }),
  setting('DIST_MODE', value.oneOf(['sname', 'name']), 'Node names with short hosts (no dot) or with full host names and IP addresses.', {
    default: 'sname',
  }),
  setting('DIST_NODE_NAME', value.nodeName, 'Name of this node: `<nodename>@<host>`.', {
    derived: '`svc@<hostname>`; with DNS `svc@<ip>`',
  }),
  setting('DIST_STRATEGY_NAME', value.oneOf(['NODES_LIST', 'DNS']), 'How other nodes are found: `NODES_LIST` or `DNS`.', {
    default: 'NODES_LIST',
  }),
  setting(
    'DIST_NODES',
    z.array(value.nodeName).max(1000, { error: 'to have at most 1000 entries' }),
    'Node names to connect to, separated by spaces (NODES_LIST).',
  ),
  setting('DIST_QUERY', value.hostName, 'Host name under which all nodes are registered (DNS).'),
  setting('DIST_POLLING_INTERVAL', milliseconds, 'Milliseconds between DNS queries; between the first six at most a second.', {
    default: 5000,
  }),
  setting('DIST_MIN_PORT', value.port, 'First port of the range for connections between nodes.', {
    derived: 'any free port',
    image: '9000',
  }),
  setting('DIST_MAX_PORT', value.port, 'Last port of the range for connections between nodes.', {
    derived: 'any free port',
    image: '9000',
  }),
  setting(
    'DIST_COOKIE',
    value.cookie,
    'Shared secret of the cluster. Choose a long random value: an attacker who can read the traffic can guess offline.',
    { derived: 'derived from SECRET_KEY_BASE; without that `svc_cookie`, on loopback only', secret: true },
  ),
  setting(
    'DIST_COOKIE_FILE',
    value.filePath,
    'File that contains the value of DIST_COOKIE, read at start; a line break at its end is no part of the cookie.',
  ),
  setting(
    'DIST_ERLANG',
    value.boolean,
    'Also dial Erlang nodes and nodes before 0.8: the dialed process can reuse their proof of the cookie elsewhere. Such nodes may always dial this node.',
    { default: false },
  ),
  setting(
    'DIST_TLS',
    value.oneOf(['off', 'optional', 'required']),
    'TLS between nodes, both sides with certificates; `optional` also accepts plain connections, for the transition of a cluster.',
    { default: 'off' },
  ),
  setting(
    'DIST_TLS_CA',
    value.filePath,
    'Certificate of the authority of the cluster (PEM): every process with a certificate of it is a node. Reloaded when it changes.',
  ),
  setting(
    'DIST_TLS_CERT',
    value.filePath,
    'Certificate of this node as client and server (PEM); it need not contain its name, and nodes may share one.',
  ),
  setting('DIST_TLS_KEY', value.filePath, 'Key of the certificate (PEM).'),
  setting('DIST_IP', value.ipAddress, 'Address on which distribution and EPMD listen.', {
    derived: 'the address of the node in name mode, else all; loopback if distribution is off or has the cookie `svc_cookie`',
  }),
  setting(
    'DIST_TICK',
    value.seconds(1, 86_400),
    'Seconds; a node without heartbeat is lost after 1 to 1.25 ticks, or after 10 s if another node needs it.',
    { default: 60 },
  ),
  setting('DRAIN_TIMEOUT', value.seconds(0), 'Maximum seconds that a shutdown waits for rooms; 0: rooms end at once.', {
    default: 0,
    image: '3600',
  }),
  setting(
    'SHUTDOWN_DELAY',
    value.seconds(0, 300),
    'Minimum seconds after SIGTERM that a node of a cluster responds to HTTP, so that Ingress and load balancers can remove it.',
    { default: 0, image: '5' },
  ),
  setting(
    'CONFIG_FILES',
    z.array(value.filePath).max(16, { error: 'to have at most 16 entries' }),
    'YAML files with reloadable settings (R), separated by spaces, merged in order; watched.',
  ),
  setting(
    'GIT_COMMIT',
    value.stringMatching('to be up to 64 letters, digits and ._-', (commit) => /^[\w.-]{1,64}$/.test(commit)),
    'Shown by /health.',
    { derived: 'from git, else `unknown`' },
  ),
] as const;

export type StaticSetting = (typeof staticSettings)[number];
export type StaticName = StaticSetting['env'];
export type StaticValue<Name extends StaticName> = SettingValue<Extract<StaticSetting, { env: Name }>>;
