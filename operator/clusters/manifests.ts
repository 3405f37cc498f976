// Types of the Kubernetes objects of a MediaCluster, limited to the fields that the operator writes.
import type { KubeObject, OwnerReference } from '../kube/objects.ts';

/** Metadata of every object of a cluster. */
export type OwnedMeta = {
  name: string;
  namespace: string;
  labels: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences: OwnerReference[];
};
type Owned<Kind extends string, Body> = KubeObject & { kind: Kind; metadata: OwnedMeta } & Body;
export type Selector = Record<string, string>;
/** A field that is passed through unchanged or validated by the API server. */
export type RawObject = Readonly<Record<string, unknown>>;

export type ServicePort = {
  name: string;
  protocol: 'TCP' | 'UDP';
  port: number;
  targetPort: number | string;
  nodePort?: number;
  appProtocol?: string;
};
export type Service = Owned<
  'Service',
  {
    spec: {
      type: 'ClusterIP' | 'NodePort' | 'LoadBalancer';
      clusterIP?: 'None';
      publishNotReadyAddresses?: true;
      externalTrafficPolicy?: 'Local';
      loadBalancerClass?: string;
      selector: Selector;
      ports: ServicePort[];
    };
  }
>;

export type ConfigMap = Owned<'ConfigMap', { data: Record<string, string> }>;
/** Values in base64. */
export type Secret = Owned<'Secret', { type: 'Opaque'; data: Record<string, string> }>;
export type ServiceAccount = Owned<'ServiceAccount', { automountServiceAccountToken: false }>;
export type PersistentVolumeClaim = Owned<
  'PersistentVolumeClaim',
  {
    spec: { accessModes: string[]; storageClassName?: string; resources: { requests: { storage: string | number } } };
  }
>;
export type PodDisruptionBudget = Owned<
  'PodDisruptionBudget',
  { spec: { minAvailable: number; unhealthyPodEvictionPolicy: 'AlwaysAllow'; selector: { matchLabels: Selector } } }
>;

export type PolicyPort = { protocol: 'TCP' | 'UDP'; port: number; endPort?: number };
export type NetworkPolicy = Owned<
  'NetworkPolicy',
  {
    spec: {
      podSelector: { matchLabels: Selector };
      policyTypes: ['Ingress'];
      ingress: { from?: RawObject[]; ports: PolicyPort[] }[];
    };
  }
>;

export type IngressPath = { path: string; pathType: 'Prefix'; backend: { service: { name: string; port: { name: string } } } };
export type Ingress = Owned<
  'Ingress',
  {
    spec: {
      ingressClassName?: string;
      tls?: { hosts: string[]; secretName: string }[];
      rules: [{ host: string; http: { paths: IngressPath[] } }];
    };
  }
>;
export type HttpRouteRule = {
  matches: [{ path: { type: 'PathPrefix'; value: string } }];
  backendRefs: [{ name: string; port: number }];
};
export type HttpRoute = Owned<
  'HTTPRoute',
  { spec: { parentRefs: { name: string; namespace?: string; sectionName?: string }[]; hostnames: [string]; rules: HttpRouteRule[] } }
>;
export type ServiceMonitor = Owned<
  'ServiceMonitor',
  {
    spec: { selector: { matchLabels: Selector }; endpoints: [{ port: string; interval?: string }] };
  }
>;

/** Without `value` and `valueFrom` the variable is empty, as in a Pod. */
export type EnvVariable = { name: string; value?: string; valueFrom?: RawObject };
export type ContainerPort = { name: string; protocol: 'TCP' | 'UDP'; containerPort: number; hostPort?: number };
export type Volume = { name: string } & RawObject;
export type VolumeMount = { name: string; mountPath: string; readOnly?: true } & RawObject;
export type Probe = {
  httpGet: { path: string; port: string };
  periodSeconds: number;
  timeoutSeconds: number;
  failureThreshold: number;
};
export type Container = {
  name: string;
  image: string;
  imagePullPolicy?: string;
  env: EnvVariable[];
  ports: ContainerPort[];
  resources?: { requests?: Record<string, string | number>; limits?: Record<string, string | number> };
  volumeMounts: VolumeMount[];
  securityContext: RawObject;
  startupProbe: Probe;
  livenessProbe: Probe;
  readinessProbe: Probe;
};
export type PodSpec = {
  hostname: string;
  subdomain: string;
  serviceAccountName: string;
  automountServiceAccountToken: false;
  enableServiceLinks: false;
  terminationGracePeriodSeconds: number;
  hostNetwork?: true;
  dnsPolicy?: 'ClusterFirstWithHostNet';
  securityContext: RawObject;
  imagePullSecrets?: { name: string }[];
  nodeSelector?: Record<string, string>;
  affinity?: RawObject;
  tolerations?: RawObject[];
  topologySpreadConstraints: RawObject[];
  priorityClassName?: string;
  runtimeClassName?: string;
  containers: [Container];
  volumes: Volume[];
};
export type Pod = Owned<'Pod', { spec: PodSpec }>;

/** Every object except Pods that the operator applies for a cluster. */
export type ClusterObject =
  | Service
  | ConfigMap
  | Secret
  | ServiceAccount
  | PersistentVolumeClaim
  | PodDisruptionBudget
  | NetworkPolicy
  | Ingress
  | HttpRoute
  | ServiceMonitor;
