// Names, labels, ports and paths of the objects of a MediaCluster.
import { apiGroup } from '../../crds/types.ts';
import type { MediaCluster } from '../objects.ts';

export const nodePorts = { http: 8080, metrics: 9568, epmd: 4369, dist: 9000 } as const;

/** Port of the Services of TURN over TLS. */
export const turnServicePort = 443;

/** User and group of the node image. */
export const nodeUser = 10_001;

export const label = {
  cluster: `${apiGroup}/cluster`,
  index: `${apiGroup}/index`,
  /** On pods whose rooms are busy; the PodDisruptionBudget selects it. */
  busy: `${apiGroup}/busy`,
  /** On Services: their purpose (`api`, `nodes`, `node`, `media` or `turn`). */
  service: `${apiGroup}/service`,
} as const;

export const annotation = {
  /** On pods: hash of all inputs whose change requires a new pod. */
  templateHash: `${apiGroup}/template-hash`,
  /** On pods: hash of the fields of the spec that shape a pod, so that the effect of an update of the operator is known. */
  specHash: `${apiGroup}/spec-hash`,
  /** On pods: the image that was requested; an admission webhook may replace that of the container. */
  image: `${apiGroup}/image`,
  /** On pods: media addresses for clients, as in SVC_WEBRTC_TURN_IP_FILE. */
  mediaAddress: `${apiGroup}/media-address`,
  /** On pods: hash of the configuration files. A change makes the kubelet refresh the mounted files immediately. */
  configHash: `${apiGroup}/config-hash`,
  /** On pods: reason and deadline of the drain. */
  drain: `${apiGroup}/drain`,
  /** On pods: `signed` if the node supports signed requests; on MediaClusters: `bearer` if its nodes do not. */
  calls: `${apiGroup}/calls`,
  /** On the Secret of keys: generation and start of the rotation. */
  keyRotation: `${apiGroup}/key-rotation`,
} as const;

/** Annotations on pods that autoscalers of Kubernetes nodes read. They follow the busy label. */
export const evictionAnnotation = {
  clusterAutoscaler: 'cluster-autoscaler.kubernetes.io/safe-to-evict',
  karpenter: 'karpenter.sh/do-not-disrupt',
} as const;

export const container = 'node';
export const configKey = 'config.yaml';
export const secretsKey = 'secrets.yaml';
/** In the Secrets of the cookie: that of the user or a generated one, and that of the configuration, which pods mount. */
export const cookieKey = 'cookie';
/** Keys of the Secret of certificates, named as `kubernetes.io/tls` and cert-manager name them. `authorityKey` is never mounted. */
export const certificateKeys = { authorities: 'ca.crt', authorityKey: 'ca.key', certificate: 'tls.crt', key: 'tls.key' } as const;
export const mounts = {
  config: '/etc/mediarooms/config',
  secrets: '/etc/mediarooms/secrets',
  pod: '/etc/mediarooms/pod',
  turn: '/etc/mediarooms/turn',
  dist: '/etc/mediarooms/dist',
  resources: '/var/lib/mediarooms',
} as const;
/** Paths in the pod, as /health reports them. */
export const paths = {
  config: `${mounts.config}/${configKey}`,
  secrets: `${mounts.secrets}/${secretsKey}`,
  cookie: `${mounts.secrets}/${cookieKey}`,
  address: `${mounts.pod}/address`,
  turnKey: `${mounts.turn}/tls.key`,
  turnCertificate: `${mounts.turn}/tls.crt`,
  distAuthorities: `${mounts.dist}/${certificateKeys.authorities}`,
  distCertificate: `${mounts.dist}/${certificateKeys.certificate}`,
  distKey: `${mounts.dist}/${certificateKeys.key}`,
} as const;

/** Names of the objects of the cluster `name`, all in its namespace. */
export function namesOf(name: string) {
  return {
    api: name,
    nodes: `${name}-nodes`,
    pod: (index: number) => `${name}-${index}`,
    /** Service of the HTTP port of a pod. */
    node: (index: number) => `${name}-${index}`,
    /** Service of the media ports of a pod, if the exposure needs it. */
    media: (index: number) => `${name}-${index}-media`,
    /** Service of TURN over TLS of a pod, and its TLSRoute. */
    turn: (index: number) => `${name}-${index}-turn`,
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
    /** HTTPRoutes are split, because a route has few rules. */
    httpRoute: (part: number) => (part === 0 ? name : `${name}-routes-${part}`),
    /** Routes of TURN over TLS of all pods. */
    ingressRouteTcp: `${name}-turn`,
    serviceMonitor: name,
  } as const;
}

/** Label selector of the pods of the cluster in its namespace. */
export function podSelector(name: string): Record<string, string> {
  return { 'app.kubernetes.io/name': 'mediarooms', 'app.kubernetes.io/component': 'node', [label.cluster]: name };
}

/** The selector as text, for `status.selector` and requests. */
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

/** Index of a pod, Service or claim of a cluster, from its label. */
export function indexOf(object: { metadata: { labels?: Record<string, string> } }): number | undefined {
  const text = object.metadata.labels?.[label.index];
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}

/**
 * Number of indexes of a cluster: one more than the maximum of nodes, because a rollout creates the new pod before it removes the old
 * one. Ingress paths exist for all of them, and for spare indexes in use.
 */
export function indexCount({ spec }: Pick<MediaCluster, 'spec'>): number {
  return spec.maxReplicas + 1;
}

/**
 * Bound of pod indexes: each index has a spare one, for the pod that replaces one of a lost Kubernetes node. The lost pod keeps its index
 * until Kubernetes deletes it.
 */
export function indexLimit(cluster: MediaCluster): number {
  return 2 * indexCount(cluster);
}
