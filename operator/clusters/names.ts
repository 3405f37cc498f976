// Names, labels, ports and paths of everything that the operator makes for a MediaCluster.
import { apiGroup } from '../../crds/types.ts';
import type { MediaCluster } from '../objects.ts';

export const nodePorts = { http: 8080, metrics: 9568, epmd: 4369, dist: 9000 } as const;

/** The user and group of the node image. */
export const nodeUser = 10_001;

export const label = {
  cluster: `${apiGroup}/cluster`,
  index: `${apiGroup}/index`,
  /** On pods with connected peers: what the PodDisruptionBudget selects. */
  busy: `${apiGroup}/busy`,
  /** On Services: what each is for (`api`, `nodes`, `node` or `media`). */
  service: `${apiGroup}/service`,
} as const;

export const annotation = {
  /** Of a pod: hash of all whose change needs a new pod. */
  templateHash: `${apiGroup}/template-hash`,
  /** Of a pod: addresses that clients get for media, as SVC_WEBRTC_TURN_IP_FILE holds them. */
  mediaAddress: `${apiGroup}/media-address`,
  /** Of a pod: hash of the configuration files. A change makes the kubelet refresh the mounted files at once. */
  configHash: `${apiGroup}/config-hash`,
  /** Of a pod: why it is being emptied and until when its rooms may live. */
  drain: `${apiGroup}/drain`,
  /** Of a pod: `signed` where its node knows signed calls; of a MediaCluster: `bearer` where its nodes do not. */
  calls: `${apiGroup}/calls`,
  /** Of the Secret of keys: which rotation they are of, and since when. */
  keyRotation: `${apiGroup}/key-rotation`,
} as const;

export const container = 'node';
export const configKey = 'config.yaml';
export const secretsKey = 'secrets.yaml';
/** Of the Secret of certificates, as `kubernetes.io/tls` and cert-manager name them. `authorityKey` is mounted nowhere. */
export const certificateKeys = { authorities: 'ca.crt', authorityKey: 'ca.key', certificate: 'tls.crt', key: 'tls.key' } as const;
export const mounts = {
  config: '/etc/mediarooms/config',
  secrets: '/etc/mediarooms/secrets',
  pod: '/etc/mediarooms/pod',
  turn: '/etc/mediarooms/turn',
  dist: '/etc/mediarooms/dist',
  resources: '/var/lib/mediarooms',
} as const;
/** Paths in the pod, as /health tells them. */
export const paths = {
  config: `${mounts.config}/${configKey}`,
  secrets: `${mounts.secrets}/${secretsKey}`,
  address: `${mounts.pod}/address`,
  turnKey: `${mounts.turn}/tls.key`,
  turnCertificate: `${mounts.turn}/tls.crt`,
  distAuthorities: `${mounts.dist}/${certificateKeys.authorities}`,
  distCertificate: `${mounts.dist}/${certificateKeys.certificate}`,
  distKey: `${mounts.dist}/${certificateKeys.key}`,
} as const;

/** Names of the objects of the cluster `name`; all in its namespace. */
export function namesOf(name: string) {
  return {
    api: name,
    nodes: `${name}-nodes`,
    pod: (index: number) => `${name}-${index}`,
    /** Service of a pod's HTTP. */
    node: (index: number) => `${name}-${index}`,
    /** Service of a pod's media, where the exposure has one. */
    media: (index: number) => `${name}-${index}-media`,
    claim: (index: number) => `${name}-${index}`,
    config: `${name}-config`,
    apiTokens: `${name}-api-tokens`,
    secretKeys: `${name}-secret-keys`,
    cookie: `${name}-cookie`,
    certificates: `${name}-certificates`,
    serviceAccount: name,
    disruptionBudget: `${name}-busy`,
    networkPolicy: name,
    ingress: name,
    /** Parts of them: one has room for few paths. */
    httpRoute: (part: number) => (part === 0 ? name : `${name}-routes-${part}`),
    serviceMonitor: name,
  } as const;
}

/** What selects the pods of the cluster in its namespace. */
export function podSelector(name: string): Record<string, string> {
  return { 'app.kubernetes.io/name': 'mediarooms', 'app.kubernetes.io/component': 'node', [label.cluster]: name };
}

/** The same as text, for `status.selector` and label selectors of requests. */
export function selectorText(selector: Record<string, string>): string {
  return Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/** Labels of every object of the cluster. Only pods have the component `node`. */
export function commonLabels(name: string): Record<string, string> {
  return {
    'app.kubernetes.io/name': 'mediarooms',
    'app.kubernetes.io/instance': name,
    'app.kubernetes.io/managed-by': 'mediarooms-operator',
    [label.cluster]: name,
  };
}

/** The index of a pod, Service or claim of a cluster, from its label. */
export function indexOf(object: { metadata: { labels?: Record<string, string> } }): number | undefined {
  const text = object.metadata.labels?.[label.index];
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}

/**
 * How many indexes a cluster may use: one more than its most nodes, since a new pod is made before an old one goes. Ingress paths exist
 * for all of them.
 */
export function indexCount(cluster: MediaCluster): number {
  return cluster.spec.maxReplicas + 1;
}
