// The pod of a media node. Almost nothing of a living pod can change: what differs from here needs a new one, which the hash tells.
import { createHash } from 'node:crypto';
import type { MediaClusterSpec } from '../../../crds/types.ts';
import type { ClusterContext, PodSlot } from '../cluster-context.ts';
import type { Container, ContainerPort, Pod, PodSpec, Probe, RawObject, Volume, VolumeMount } from '../manifests.ts';
import { annotation, certificateKeys, container, mounts, namesOf, nodePorts, nodeUser, podSelector } from '../names.ts';
import { exposureOf, portsOf } from '../network/ports.ts';
import { ownedMeta, type StoredCluster } from '../owned.ts';
import { hasCertificates } from '../secrets/secret-values.ts';
import { callsAnnotation } from '../secrets/signed-calls.ts';
import { stableJson } from '../stable-json.ts';
import { drainSeconds, nodeEnv } from './node-env.ts';

/** What a node may take to end beyond its drain: uploads, deliveries, the close of everything. */
const endSeconds = 60;

/** The pod of an index, to be *created*. Address and configuration hash are annotations that are patched while it lives. */
export function pod(cluster: StoredCluster, facts: ClusterContext, podSlot: PodSlot): Pod {
  const made = podWithoutHash(cluster, facts, podSlot);
  // The hash leaves out who signs: a living pod is not replaced for that.
  const own = { [annotation.templateHash]: templateHash(cluster, facts), ...callsAnnotation(cluster) };
  made.metadata.annotations = { ...made.metadata.annotations, ...own };
  return made;
}

/**
 * Hash of everything that a pod of the cluster has, whichever its index and ports are: a pod with another one is to be replaced.
 * What reaches living nodes (config, secrets, the announced address) is not in it.
 */
export function templateHash(cluster: StoredCluster, facts: ClusterContext): string {
  const { metadata, spec } = podWithoutHash(cluster, facts, { index: 0, basePort: 1 });
  const { labels, annotations } = metadata;
  // Ports that were given are a choice; the range that is taken otherwise is not.
  const { ports, loadBalancer } = cluster.spec.media ?? {};
  // A Service keeps the class of load balancers that it was made with.
  const exposure = { exposure: exposureOf(cluster.spec), ports, className: loadBalancer?.className };
  return createHash('sha256').update(stableJson({ labels, annotations, spec, exposure })).digest('hex').slice(0, 16);
}

function podWithoutHash(cluster: StoredCluster, facts: ClusterContext, podSlot: PodSlot): Pod {
  const { name } = cluster.metadata;
  const template = cluster.spec.podTemplate ?? {};
  const labels = { ...template.labels, ...podSelector(name) };
  const metadata = ownedMeta(cluster, namesOf(name).pod(podSlot.index), {
    labels,
    annotations: template.annotations,
    index: podSlot.index,
  });
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: podSpec(cluster, facts, podSlot) };
}

function podSpec(cluster: StoredCluster, facts: ClusterContext, podSlot: PodSlot): PodSpec {
  const { spec } = cluster;
  const { name } = cluster.metadata;
  const { affinity, imagePullSecrets, nodeSelector, priorityClassName, runtimeClassName, tolerations, topologySpreadConstraints } = {
    imagePullSecrets: spec.imagePullSecrets,
    ...spec.podTemplate,
  };
  return {
    hostname: namesOf(name).pod(podSlot.index),
    subdomain: namesOf(name).nodes,
    serviceAccountName: namesOf(name).serviceAccount,
    automountServiceAccountToken: false,
    // A Service named svc would set SVC_PORT.
    enableServiceLinks: false,
    terminationGracePeriodSeconds: drainSeconds(cluster) + endSeconds,
    ...(exposureOf(spec) === 'hostNetwork' ? { hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' } : {}),
    securityContext: podSecurity,
    ...defined({ imagePullSecrets, nodeSelector, affinity, tolerations, priorityClassName, runtimeClassName }),
    topologySpreadConstraints: topologySpreadConstraints ?? [spread(name)],
    containers: [nodeContainer(cluster, facts, podSlot)],
    volumes: volumes(cluster, podSlot),
  };
}

const podSecurity: RawObject = {
  runAsNonRoot: true,
  runAsUser: nodeUser,
  runAsGroup: nodeUser,
  fsGroup: nodeUser,
  // A claim with many recordings is not walked through at every start.
  fsGroupChangePolicy: 'OnRootMismatch',
  seccompProfile: { type: 'RuntimeDefault' },
};

const containerSecurity: RawObject = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

function spread(name: string): RawObject {
  return {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: podSelector(name) },
  };
}

function nodeContainer(cluster: StoredCluster, facts: ClusterContext, podSlot: PodSlot): Container {
  const { spec } = cluster;
  const resources = defined(spec.resources ?? {});
  return {
    name: container,
    image: spec.image ?? facts.image,
    ...defined({ imagePullPolicy: spec.imagePullPolicy }),
    env: nodeEnv(cluster, facts, podSlot),
    ports: containerPorts(spec, podSlot),
    ...(Object.keys(resources).length > 0 ? { resources } : {}),
    volumeMounts: [...ownMounts, ...turnMounts(spec), ...distMounts(cluster), ...((spec.podTemplate?.volumeMounts ?? []) as VolumeMount[])],
    securityContext: containerSecurity,
    startupProbe: probe('/livez', { periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 60 }),
    // Lenient: a node that is slow for a while has people in its rooms.
    livenessProbe: probe('/livez', { periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 }),
    readinessProbe: probe('/readyz', { periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 3 }),
  };
}

function probe(path: string, times: Omit<Probe, 'httpGet'>): Probe {
  return { httpGet: { path, port: 'http' }, ...times };
}

function containerPorts(spec: MediaClusterSpec, podSlot: PodSlot): ContainerPort[] {
  const exposure = exposureOf(spec);
  // In the network of the host every port is one of the host: naming them makes the scheduler keep two such pods apart.
  const own = Object.entries(nodePorts).map(([name, port]) => portOf(name, 'TCP', port, exposure === 'hostNetwork'));
  const onHost = exposure === 'hostNetwork' || exposure === 'hostPort';
  const media = portsOf(spec, podSlot.basePort).flatMap(({ port, protocols }) =>
    protocols.map((protocol) => portOf(`${protocol.toLowerCase()}-${port}`, protocol, port, onHost)),
  );
  return [...own, ...media];
}

function portOf(name: string, protocol: 'TCP' | 'UDP', port: number, onHost: boolean): ContainerPort {
  return { name, protocol, containerPort: port, ...(onHost ? { hostPort: port } : {}) };
}

const ownMounts: VolumeMount[] = [
  { name: 'tmp', mountPath: '/tmp' },
  { name: 'resources', mountPath: mounts.resources },
  { name: 'config', mountPath: mounts.config, readOnly: true },
  { name: 'secrets', mountPath: mounts.secrets, readOnly: true },
  { name: 'pod', mountPath: mounts.pod, readOnly: true },
];

/** The certificate of TURN; read again by coturn when it is renewed. */
function turnMounts({ turn }: MediaClusterSpec): VolumeMount[] {
  return turn?.tlsSecretName === undefined ? [] : [{ name: 'turn', mountPath: mounts.turn, readOnly: true }];
}

/** The authorities and the certificate of the nodes; read again by the node when they are renewed. */
function distMounts(cluster: StoredCluster): VolumeMount[] {
  return hasCertificates(cluster) ? [{ name: 'dist-tls', mountPath: mounts.dist, readOnly: true }] : [];
}

/** The key of the authority stays with the operator. */
function distVolume(cluster: StoredCluster): Volume[] {
  if (!hasCertificates(cluster)) return [];
  const { certificates: secretName } = namesOf(cluster.metadata.name);
  const { authorities, certificate, key } = certificateKeys;
  const items = [authorities, certificate, key].map((each) => ({ key: each, path: each }));
  return [{ name: 'dist-tls', secret: { secretName, defaultMode: 0o440, items } }];
}

function volumes(cluster: StoredCluster, podSlot: PodSlot): Volume[] {
  const { config, claim } = namesOf(cluster.metadata.name);
  const { storage, podTemplate, turn } = cluster.spec;
  const resources: RawObject =
    storage?.persistentVolumeClaim === undefined
      ? { emptyDir: defined({ sizeLimit: storage?.emptyDir?.sizeLimit }) }
      : { persistentVolumeClaim: { claimName: claim(podSlot.index) } };
  const address = { path: 'address', fieldRef: { fieldPath: `metadata.annotations['${annotation.mediaAddress}']` } };
  return [
    { name: 'tmp', emptyDir: {} },
    { name: 'resources', ...resources },
    { name: 'config', configMap: { name: config } },
    // Readable by the group of the node, which fsGroup makes the files belong to.
    { name: 'secrets', secret: { secretName: config, defaultMode: 0o440 } },
    { name: 'pod', downwardAPI: { items: [address] } },
    ...(turn?.tlsSecretName === undefined ? [] : [{ name: 'turn', secret: { secretName: turn.tlsSecretName, defaultMode: 0o440 } }]),
    ...distVolume(cluster),
    ...((podTemplate?.volumes ?? []) as Volume[]),
  ];
}

/** Without the fields that are undefined. */
function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
