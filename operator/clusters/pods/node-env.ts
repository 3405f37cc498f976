// Environment of a media node: static settings. Reloadable settings are in the files of config-files.ts.
import type { MediaClusterSpec } from '../../../crds/types.ts';
import type { EnvVariable } from '../../kube/kinds.ts';
import type { ClusterContext, PodSlot } from '../cluster-context.ts';
import { cookieKey, namesOf, nodePorts, paths } from '../names.ts';
import { isBehindProxy, nodeHost } from '../network/ingress.ts';
import { exposureOf, sipPorts, turnPort, turnTlsPort } from '../network/ports.ts';
import { headlessServiceHost } from '../network/services.ts';
import { publicTurn } from '../network/turn-routes.ts';
import type { StoredCluster } from '../owned.ts';
import { hasCertificates } from '../secrets/secret-values.ts';
import { readsCookieFile } from '../secrets/signed-calls.ts';
import type { DrainReason } from './pod-snapshot.ts';

/** Seconds that live rooms have if their pod is deleted, and if the cause of a drain has no timeout of its own. */
export function drainSeconds(cluster: StoredCluster): number {
  return cluster.spec.drain?.timeoutSeconds ?? 3600;
}

const causes = { Rollout: 'rollout', ScaleDown: 'scaleDown', HostDrained: 'node' } as const satisfies Record<DrainReason, string>;

/** Milliseconds that live rooms have if their node is drained for this reason. */
export function drainTimeoutMs(cluster: StoredCluster, reason: DrainReason): number {
  return (cluster.spec.drain?.[causes[reason]]?.timeoutSeconds ?? drainSeconds(cluster)) * 1000;
}

/** RFC 1918, RFC 6598, RFC 4193. */
const privateNetworks = '10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 fc00::/7';

/**
 * By default one proxy is trusted: the address of an Ingress controller is unknown, but it is the direct client. If clients can connect too (host port,
 * routed address, NetworkPolicy not enforced), only private addresses are trusted.
 */
function trustedProxies(spec: MediaClusterSpec): string | undefined {
  if (spec.trustedProxies !== undefined) return spec.trustedProxies.join(' ');
  if (!isBehindProxy(spec)) return undefined;
  const direct = exposureOf(spec) === 'podIP' || exposureOf(spec) === 'hostNetwork';
  return direct ? `1 ${privateNetworks}` : '1';
}

/** In the order of the pod, because `$(POD_IP)` must be defined before its use. `extraEnv` takes precedence. */
export function nodeEnv(cluster: StoredCluster, facts: ClusterContext, podSlot: PodSlot): EnvVariable[] {
  const { spec } = cluster;
  const proxies = trustedProxies(spec);
  const ipv6 = facts.ipFamily === 'IPv6';
  const ownAddress = `${ipv6 ? '[$(POD_IP)]' : '$(POD_IP)'}:${nodePorts.http}`;
  const variables: EnvVariable[] = [
    { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
    { name: 'SVC_CONFIG_FILES', value: `${paths.config} ${paths.secrets}` },
    { name: 'SVC_HOST', value: nodeHost(spec, podSlot.index) ?? ownAddress },
    { name: 'SVC_INTERNAL_ADDRESS', value: ownAddress },
    { name: 'SVC_WEBRTC_BASE_PORT', value: String(podSlot.basePort) },
    { name: 'SVC_WEBRTC_WORKERS', value: String(spec.workersPerNode) },
    { name: 'SVC_WEBRTC_TURN_IP_FILE', value: paths.address },
    { name: 'SVC_DIST_ENABLED', value: 'true' },
    { name: 'SVC_DIST_MODE', value: 'name' },
    { name: 'SVC_DIST_NODE_NAME', value: 'svc@$(POD_IP)' },
    { name: 'SVC_DIST_STRATEGY_NAME', value: 'DNS' },
    { name: 'SVC_DIST_QUERY', value: headlessServiceHost(cluster, facts) },
    ...cookieEnv(cluster, facts),
    { name: 'SVC_DRAIN_TIMEOUT', value: String(drainSeconds(cluster)) },
    // Empty means unset: the image sets a default, and a file cannot override the environment.
    { name: 'SVC_WEBHOOK_ALLOW_PRIVATE' },
    // Keeps the default of the image if the file does not set it.
    ...(spec.config?.allowPrivateAddresses === undefined ? [] : [{ name: 'SVC_ALLOW_PRIVATE_ADDRESSES' }]),
    ...(proxies === undefined ? [] : [{ name: 'SVC_TRUST_PROXY', value: proxies }]),
    ...(ipv6 || facts.dualStack ? listenOnIpv6 : []),
    ...distTlsEnv(cluster),
    ...turnEnv(cluster, podSlot),
    ...sipEnv(cluster, podSlot),
    ...(spec.livekit?.enabled ? [{ name: 'SVC_LIVEKIT_ENABLED', value: 'true' }] : []),
  ];
  return withOthers(variables, spec.podTemplate?.extraEnv ?? []);
}

/** Older nodes read no file. Both refer to the effective cookie, not to that of the user, which may have changed since (cluster-cookie.ts). */
function cookieEnv(cluster: StoredCluster, facts: ClusterContext): EnvVariable[] {
  const { config } = namesOf(cluster.metadata.name);
  if (!readsCookieFile(cluster, facts)) return [{ name: 'SVC_DIST_COOKIE', valueFrom: { secretKeyRef: { name: config, key: cookieKey } } }];
  const isGiven = cluster.spec.podTemplate?.extraEnv?.some(({ name }) => name === 'SVC_DIST_COOKIE');
  return isGiven ? [] : [{ name: 'SVC_DIST_COOKIE_FILE', value: paths.cookie }];
}

function distTlsEnv(cluster: StoredCluster): EnvVariable[] {
  if (!hasCertificates(cluster)) return [];
  return [
    { name: 'SVC_DIST_TLS', value: cluster.spec.distributionTls },
    { name: 'SVC_DIST_TLS_CA', value: paths.distAuthorities },
    { name: 'SVC_DIST_TLS_CERT', value: paths.distCertificate },
    { name: 'SVC_DIST_TLS_KEY', value: paths.distKey },
  ];
}

function turnEnv(cluster: StoredCluster, { index, basePort }: PodSlot): EnvVariable[] {
  const { spec } = cluster;
  const [port, tlsPort] = [turnPort(spec, basePort), turnTlsPort(spec, basePort)];
  const variables: EnvVariable[] = [];
  if (port !== undefined)
    variables.push({ name: 'SVC_WEBRTC_TURN_ENABLED', value: 'true' }, { name: 'SVC_WEBRTC_TURN_PORT', value: String(port) });
  if (tlsPort === undefined) return variables;
  variables.push(
    { name: 'SVC_WEBRTC_TURN_TLS_PORT', value: String(tlsPort) },
    { name: 'SVC_WEBRTC_TURN_TLS_KEY_PATH', value: paths.turnKey },
    { name: 'SVC_WEBRTC_TURN_TLS_CERT_PATH', value: paths.turnCertificate },
  );
  const { host, port: publicPort } = publicTurn(cluster, index);
  if (host !== undefined) variables.push({ name: 'SVC_WEBRTC_TURN_TLS_HOST', value: host });
  if (publicPort !== undefined) variables.push({ name: 'SVC_WEBRTC_TURN_TLS_PUBLIC_PORT', value: String(publicPort) });
  if (spec.turn?.tlsRoutes?.proxyProtocol === true) variables.push({ name: 'SVC_WEBRTC_TURN_TLS_PROXY_PROTOCOL', value: 'true' });
  return variables;
}

function sipEnv({ spec }: StoredCluster, { basePort }: PodSlot): EnvVariable[] {
  const ports = sipPorts(spec, basePort);
  if (!ports) return [];
  const { signalling, calls } = ports;
  return [
    { name: 'SVC_SIP_PORT', value: `${signalling.from}-${signalling.to}` },
    { name: 'SVC_SIP_RTP_PORTS', value: `${calls.from}-${calls.to}` },
  ];
}

/** The default 0.0.0.0 of the image does not listen on IPv6; `::` listens on both families. */
const listenOnIpv6: EnvVariable[] = ['SVC_IP', 'SVC_METRICS_IP', 'SVC_WEBRTC_TURN_LISTEN_IP'].map((name) => ({ name, value: '::' }));

function withOthers(variables: readonly EnvVariable[], others: readonly OtherVariable[]): EnvVariable[] {
  const given = new Map(others.map(({ name, value, valueFrom }) => [name, variable(name, value, valueFrom)]));
  const replaced = variables.map((each) => given.get(each.name) ?? each);
  const known = new Set(variables.map(({ name }) => name));
  return [...replaced, ...[...given.values()].filter(({ name }) => !known.has(name))];
}

type OtherVariable = { name: string; value?: string | undefined; valueFrom?: Record<string, unknown> | undefined };

/** Omits an empty text, as the API server does. */
function variable(name: string, value: string | undefined, valueFrom: Record<string, unknown> | undefined): EnvVariable {
  return { name, ...(value ? { value } : {}), ...(valueFrom === undefined ? {} : { valueFrom }) };
}
