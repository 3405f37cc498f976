// Pod of a media node. Almost no field of a running pod can change, so differences require a new pod, detected by the template hash.
import { createHash } from 'node:crypto';
import type { MediaClusterSpec } from '../../../crds/types.ts';
import { stableJson } from '../../json.ts';
import type { Container, ContainerPort, PodSpec, Probe, TopologySpreadConstraint, Volume, VolumeMount } from '../../kube/kinds.ts';
import type { ClusterContext, PodSlot } from '../cluster-context.ts';
import type { NodeContainer, Pod } from '../manifests.ts';
import { annotation, certificateKeys, container, mounts, namesOf, nodePorts, nodeUser, podSelector } from '../names.ts';
import { publicUrl } from '../network/ingress.ts';
import { exposureOf, portsOf } from '../network/ports.ts';
import { ownedMeta, type StoredCluster } from '../owned.ts';
import { hasCertificates } from '../secrets/secret-values.ts';
import { callsAnnotation } from '../secrets/signed-calls.ts';
import { drainSeconds, nodeEnv } from './node-env.ts';

/** Shutdown time of a node after its drain, for uploads, deliveries and closing connections. */
const endSeconds = 60;

/** The pod of an index, to be *created*. Address and configuration hash are annotations, patched while it runs. */
export function pod(cluster: StoredCluster, facts: ClusterContext, podSlot: PodSlot): Pod {
  const made = withDefaults(podWithoutHash(cluster, facts, podSlot));
  // The hash excludes these annotations: a running pod is not replaced because of request signing or another default image.
  const own = {
    [annotation.templateHash]: templateHash(cluster, facts),
    [annotation.specHash]: specHash(cluster),
    [annotation.image]: imageOf(cluster, facts),
    ...callsAnnotation(cluster, facts),
  };
  made.metadata.annotations = { ...made.metadata.annotations, ...own };
  return made;
}

/**
 * Hash of all inputs of a pod of the cluster except index and ports: a pod with another hash is replaced. Inputs that reach running
 * nodes (config, secrets, announced address) are excluded, and so is the image (isCurrent in observe-pod.ts): that of a pod matters only
 * if spec.image names one, so that an upgrade of the operator alone, or another operator, replaces no pod.
 */
export function templateHash(cluster: StoredCluster, facts: ClusterContext): string {
  const { metadata, spec } = podWithoutHash(cluster, facts, { index: 0, basePort: 1 });
  const { labels, annotations } = metadata;
  // Only configured ports are part of the hash, not the default range.
  const { ports, loadBalancer } = cluster.spec.media ?? {};
  // A Service keeps its load balancer class.
  const exposure = { exposure: exposureOf(cluster.spec), ports, className: loadBalancer?.className };
  // A running pod is not replaced for these fields.
  const containers = spec.containers.map(({ terminationMessagePolicy: _, image: _image, ...each }) => each);
  return createHash('sha256')
    .update(stableJson({ labels, annotations, spec: { ...spec, containers }, exposure }))
    .digest('hex')
    .slice(0, 16);
}

/** Hash of the fields of the spec that shape a pod. Unlike the template hash it does not change with the version of the operator. */
export function specHash({ spec }: StoredCluster): string {
  const { image, imagePullPolicy, imagePullSecrets, resources, workersPerNode, podTemplate, media, storage, turn, sip, livekit } = spec;
  const { distributionTls, drain, config, trustedProxies, services } = spec;
  const shape = {
    ...{
      image,
      imagePullPolicy,
      imagePullSecrets,
      resources,
      workersPerNode,
      podTemplate,
      media,
      storage,
      turn: turnShape(turn),
      sip,
      livekit,
    },
    ...{
      distributionTls,
      drain: drain?.timeoutSeconds,
      url: publicUrl(spec),
      privateAddresses: config?.allowPrivateAddresses,
      trustedProxies,
      ipFamilyPolicy: services?.ipFamilyPolicy,
      ipFamilies: services?.ipFamilies,
    },
  };
  return createHash('sha256').update(stableJson(shape)).digest('hex').slice(0, 16);
}

/** Routes of TURN over TLS change without a rollout, except its host and port for clients. */
function turnShape(turn: MediaClusterSpec['turn']): object | undefined {
  return turn?.tlsRoutes ? { ...turn, tlsRoutes: { host: turn.tlsRoutes.host, port: turn.tlsRoutes.port } } : turn;
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

/** Defaults that the hash excludes, so that no running pod is replaced for them. */
function withDefaults({ spec, ...others }: Pod): Pod {
  const [node] = spec.containers;
  const volumes = (spec.volumes ?? []).map((volume) => (volume.name === 'tmp' ? { ...volume, emptyDir: { sizeLimit: '1Gi' } } : volume));
  return { ...others, spec: { ...spec, containers: [{ resources: defaultResources, ...node }], volumes } };
}

/** What an idle node uses: without requests its pod would be the first that a full Kubernetes node evicts. */
const defaultResources: NonNullable<Container['resources']> = { requests: { cpu: '100m', memory: '256Mi' } };

function podSpec(cluster: StoredCluster, facts: ClusterContext, podSlot: PodSlot): Pod['spec'] {
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
    // Otherwise a Service named svc would set SVC_PORT.
    enableServiceLinks: false,
    terminationGracePeriodSeconds: drainSeconds(cluster) + endSeconds,
    ...(exposureOf(spec) === 'hostNetwork' ? { hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' } : {}),
    securityContext: podSecurity(spec),
    ...defined({ imagePullSecrets, nodeSelector, affinity, tolerations, priorityClassName, runtimeClassName }),
    topologySpreadConstraints: (topologySpreadConstraints as TopologySpreadConstraint[] | undefined) ?? [spread(name)],
    containers: [nodeContainer(cluster, facts, podSlot)],
    volumes: volumes(cluster, podSlot),
  };
}

function imageOf({ spec }: StoredCluster, facts: Pick<ClusterContext, 'image'>): string {
  return spec.image ?? facts.image;
}

function podSecurity({ podTemplate }: MediaClusterSpec): NonNullable<PodSpec['securityContext']> {
  return {
    runAsNonRoot: true,
    ...(podTemplate?.fixedUser === false ? {} : { runAsUser: nodeUser, runAsGroup: nodeUser, fsGroup: nodeUser }),
    // Otherwise the kubelet would walk all recordings of a claim at every start.
    fsGroupChangePolicy: 'OnRootMismatch',
    seccompProfile: { type: 'RuntimeDefault' },
  };
}

const containerSecurity: NonNullable<Container['securityContext']> = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

function spread(name: string): TopologySpreadConstraint {
  return {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: podSelector(name) },
  };
}

function nodeContainer(cluster: StoredCluster, facts: ClusterContext, podSlot: PodSlot): NodeContainer {
  const { spec } = cluster;
  // A quantity may be a number in JSON.
  const resources = defined(spec.resources ?? {});
  return {
    name: container,
    image: imageOf(cluster, facts),
    ...defined({ imagePullPolicy: spec.imagePullPolicy }),
    env: nodeEnv(cluster, facts, podSlot),
    ports: containerPorts(spec, podSlot),
    ...(Object.keys(resources).length > 0 ? { resources: resources as NonNullable<Container['resources']> } : {}),
    volumeMounts: [...ownMounts, ...turnMounts(spec), ...distMounts(cluster), ...((spec.podTemplate?.volumeMounts ?? []) as VolumeMount[])],
    securityContext: containerSecurity,
    // The last output of a node that ended is part of the status of its pod.
    terminationMessagePolicy,
    startupProbe: probe('/livez', { periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 60 }),
    // Lenient, because a temporarily slow node has live rooms.
    livenessProbe: probe('/livez', { periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 }),
    readinessProbe: probe('/readyz', { periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 3 }),
  };
}

const terminationMessagePolicy = 'FallbackToLogsOnError';

function probe(path: string, times: Omit<Probe, 'httpGet'>): Probe {
  return { httpGet: { path, port: 'http' }, ...times };
}

function containerPorts(spec: MediaClusterSpec, podSlot: PodSlot): ContainerPort[] {
  const exposure = exposureOf(spec);
  // With the host network, declared ports let the scheduler place such pods on different Kubernetes nodes.
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

/** TURN certificate; coturn reloads it when it is renewed. */
function turnMounts({ turn }: MediaClusterSpec): VolumeMount[] {
  return turn?.tlsSecretName === undefined ? [] : [{ name: 'turn', mountPath: mounts.turn, readOnly: true }];
}

/** CAs and certificate of the nodes; the node reloads them when they are renewed. */
function distMounts(cluster: StoredCluster): VolumeMount[] {
  return hasCertificates(cluster) ? [{ name: 'dist-tls', mountPath: mounts.dist, readOnly: true }] : [];
}

/** The key of the CA is not mounted. */
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
  const resources: Omit<Volume, 'name'> =
    storage?.persistentVolumeClaim === undefined
      ? { emptyDir: defined({ sizeLimit: storage?.emptyDir?.sizeLimit }) as NonNullable<Volume['emptyDir']> }
      : { persistentVolumeClaim: { claimName: claim(podSlot.index) } };
  const address = { path: 'address', fieldRef: { fieldPath: `metadata.annotations['${annotation.mediaAddress}']` } };
  return [
    { name: 'tmp', emptyDir: {} },
    { name: 'resources', ...resources },
    { name: 'config', configMap: { name: config } },
    // Readable by the group of the node, to which fsGroup assigns the files.
    { name: 'secrets', secret: { secretName: config, defaultMode: 0o440 } },
    { name: 'pod', downwardAPI: { items: [address] } },
    ...(turn?.tlsSecretName === undefined ? [] : [{ name: 'turn', secret: { secretName: turn.tlsSecretName, defaultMode: 0o440 } }]),
    ...distVolume(cluster),
    ...((podTemplate?.volumes ?? []) as Volume[]),
  ];
}

/** Drops undefined fields. */
function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
