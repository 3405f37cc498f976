// Types of the Kubernetes objects that the operator applies for a MediaCluster.
import type {
  Container,
  IngressSpec,
  NetworkPolicyPeer,
  NetworkPolicySpec,
  PersistentVolumeClaimSpec,
  PodDisruptionBudgetSpec,
  PodSpec,
  ServicePort,
  ServiceSpec,
  Volume,
} from '../kube/kinds.ts';
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
type Data = Record<string, string>;
type Selector = { matchLabels: Record<string, string> };

export type Service = Owned<'Service', { spec: ServiceSpec & { selector: Record<string, string>; ports: ServicePort[] } }>;
export type ConfigMap = Owned<'ConfigMap', { data: Data }>;
/** Values in base64. */
export type Secret = Owned<'Secret', { type: 'Opaque'; data: Data }>;
export type ServiceAccount = Owned<'ServiceAccount', { automountServiceAccountToken: false }>;
export type PersistentVolumeClaim = Owned<'PersistentVolumeClaim', { spec: PersistentVolumeClaimSpec }>;
export type PodDisruptionBudget = Owned<'PodDisruptionBudget', { spec: PodDisruptionBudgetSpec }>;
export type PolicyPort = { protocol: 'TCP' | 'UDP'; port: number; endPort?: number };
export type NetworkPolicy = Owned<
  'NetworkPolicy',
  { spec: Omit<NetworkPolicySpec, 'ingress'> & { podSelector: Selector; ingress: { from?: NetworkPolicyPeer[]; ports: PolicyPort[] }[] } }
>;
export type Ingress = Owned<'Ingress', { spec: IngressSpec }>;

export type HttpRouteRule = {
  matches: [{ path: { type: 'PathPrefix'; value: string } }];
  backendRefs: [{ name: string; port: number }];
};
/** Of the Gateway API. */
export type HttpRoute = Owned<
  'HTTPRoute',
  { spec: { parentRefs: { name: string; namespace?: string; sectionName?: string }[]; hostnames: [string]; rules: HttpRouteRule[] } }
>;
/** Of the Gateway API. */
export type TlsRoute = Owned<
  'TLSRoute',
  { spec: { parentRefs: HttpRoute['spec']['parentRefs']; hostnames: [string]; rules: [{ backendRefs: [{ name: string; port: number }] }] } }
>;
/** Of Traefik. */
export type IngressRouteTcp = Owned<
  'IngressRouteTCP',
  {
    spec: {
      entryPoints?: string[];
      routes: { match: string; services: [{ name: string; port: number; proxyProtocol?: { version: 2 } }] }[];
      tls: { passthrough: true };
    };
  }
>;
/** Of the Prometheus operator. */
export type ServiceMonitor = Owned<
  'ServiceMonitor',
  {
    spec: {
      jobLabel: string;
      selector: Selector;
      endpoints: [{ port: string; interval?: string; relabelings: { sourceLabels: string[]; targetLabel: string }[] }];
    };
  }
>;

export type NodeContainer = Container & Required<Pick<Container, 'image' | 'env' | 'ports' | 'volumeMounts' | 'securityContext'>>;
export type Pod = Owned<
  'Pod',
  {
    spec: PodSpec &
      Required<Pick<PodSpec, 'securityContext' | 'topologySpreadConstraints'>> & { containers: [NodeContainer]; volumes: Volume[] };
  }
>;

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
  | TlsRoute
  | IngressRouteTcp
  | ServiceMonitor;
