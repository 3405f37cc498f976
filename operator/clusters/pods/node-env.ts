// The environment of a media node in a pod: what is fixed while it runs. What may change is in the files (config-files.ts).
import type { MediaClusterSpec } from '../../../crds/types.ts';
import type { ClusterContext, PodSlot } from '../cluster-context.ts';
import type { EnvVariable } from '../manifests.ts';
import { nodePorts, paths } from '../names.ts';
import { isBehindProxy, nodeHost } from '../network/ingress.ts';
import { exposureOf, sipPorts, turnPort, turnTlsPort } from '../network/ports.ts';
import { headlessServiceHost } from '../network/services.ts';
import type { StoredCluster } from '../owned.ts';
import { hasCertificates, secretsOf } from '../secrets/secret-values.ts';

/** Seconds that live rooms have at most when their node is to go. */
export function drainSeconds(cluster: StoredCluster): number {
  return cluster.spec.drain?.timeoutSeconds ?? 3600;
}

/** RFC 1918, RFC 6598, RFC 4193. */
const privateNetworks = '10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 fc00::/7';

/**
 * One proxy: nothing tells the addresses of an Ingress controller, but it is who connects. Where clients can connect too, since the port
 * is that of the host or of an address that is routed to, and no NetworkPolicy need hold there, at least a public one is no proxy.
 */
function trustedProxy(spec: MediaClusterSpec): string {
  const direct = exposureOf(spec) === 'podIP' || exposureOf(spec) === 'hostNetwork';
  return direct ? `1 ${privateNetworks}` : '1';
}

/** In the order of the pod, since `$(POD_IP)` means what stands before. `extraEnv` wins. */
export function nodeEnv(cluster: StoredCluster, facts: ClusterContext, podSlot: PodSlot): EnvVariable[] {
  const { spec } = cluster;
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
    { name: 'SVC_DIST_COOKIE', valueFrom: { secretKeyRef: { name: secretsOf(cluster).cookie, key: 'cookie' } } },
    { name: 'SVC_DRAIN_TIMEOUT', value: String(drainSeconds(cluster)) },
    // Empty is unset: the image sets it, and what the environment sets no file can change.
    { name: 'SVC_WEBHOOK_ALLOW_PRIVATE' },
    // Where the file says nothing the image's word stays.
    ...(spec.config?.allowPrivateAddresses === undefined ? [] : [{ name: 'SVC_ALLOW_PRIVATE_ADDRESSES' }]),
    ...(isBehindProxy(spec) ? [{ name: 'SVC_TRUST_PROXY', value: trustedProxy(spec) }] : []),
    ...(ipv6 ? listenOnIpv6 : []),
    ...distTlsEnv(cluster),
    ...turnEnv(cluster, podSlot),
    ...sipEnv(cluster, podSlot),
  ];
  return withOthers(variables, spec.podTemplate?.extraEnv ?? []);
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

function turnEnv({ spec }: StoredCluster, { basePort }: PodSlot): EnvVariable[] {
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
  const host = spec.turn?.tlsHost;
  if (host !== undefined) variables.push({ name: 'SVC_WEBRTC_TURN_TLS_HOST', value: host });
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

/** The image's 0.0.0.0 listens on no IPv6 address; `::` listens on all of both families. */
const listenOnIpv6: EnvVariable[] = ['SVC_IP', 'SVC_METRICS_IP', 'SVC_WEBRTC_TURN_LISTEN_IP'].map((name) => ({ name, value: '::' }));

function withOthers(variables: readonly EnvVariable[], others: readonly OtherVariable[]): EnvVariable[] {
  const given = new Map(others.map(({ name, value, valueFrom }) => [name, variable(name, value, valueFrom)]));
  const replaced = variables.map((each) => given.get(each.name) ?? each);
  const known = new Set(variables.map(({ name }) => name));
  return [...replaced, ...[...given.values()].filter(({ name }) => !known.has(name))];
}

type OtherVariable = { name: string; value?: string | undefined; valueFrom?: Record<string, unknown> | undefined };

/** An empty text is left out, as the API server does. */
function variable(name: string, value: string | undefined, valueFrom: Record<string, unknown> | undefined): EnvVariable {
  return { name, ...(value ? { value } : {}), ...(valueFrom === undefined ? {} : { valueFrom }) };
}
