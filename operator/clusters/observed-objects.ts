// Types of stored objects that the controller reads, and of the reflector caches.
import type { KubeObject, Stored } from '../kube/objects.ts';
import type { SecretStore } from '../kube/secret-store.ts';
import type { MediaCluster } from '../objects.ts';
import type { Host } from './pods/hosts.ts';

type ContainerState = {
  running?: Record<string, unknown>;
  waiting?: { reason?: string; message?: string };
  terminated?: { reason?: string; message?: string; exitCode?: number };
};

export type ObservedPod = KubeObject & {
  spec?: { nodeName?: string; containers?: { name?: string; image?: string; ports?: { name?: string; containerPort: number }[] }[] };
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    podIP?: string;
    podIPs?: readonly { ip: string }[];
    hostIP?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    /** `lastState`: of the previous run of a container that was restarted. */
    containerStatuses?: { name: string; state?: ContainerState; lastState?: ContainerState }[];
  };
};
export type ObservedSecret = KubeObject & { data?: Readonly<Record<string, string>> };
export type ObservedService = KubeObject & {
  spec?: { type?: string; ipFamilies?: string[]; ports?: { port: number; nodePort?: number }[] };
  status?: { loadBalancer?: { ingress?: { ip?: string; hostname?: string }[] } };
};

/** Read access to the cache of a reflector. Keys are `namespace/name`. */
export type Store<T extends KubeObject> = {
  get: (key: string) => Stored<T> | undefined;
  list: () => Stored<T>[];
  readonly synced: boolean;
};

/** Kinds of other projects, which may be installed after the operator. */
export const optionalKinds = ['serviceMonitors', 'httpRoutes', 'tlsRoutes', 'ingressRouteTcps'] as const;
export type OptionalKind = (typeof optionalKinds)[number];

/** The metadata of all Secrets must be watched; other kinds with the label `app.kubernetes.io/managed-by=mediarooms-operator` only. */
export type ClusterStores = {
  mediaClusters: Store<MediaCluster>;
  pods: Store<ObservedPod>;
  secrets: Store<ObservedSecret> & Pick<SecretStore<ObservedSecret>, 'read'>;
  services: Store<ObservedService>;
  configMaps: Store<KubeObject>;
  serviceAccounts: Store<KubeObject>;
  persistentVolumeClaims: Store<KubeObject>;
  podDisruptionBudgets: Store<KubeObject>;
  networkPolicies: Store<KubeObject>;
  ingresses: Store<KubeObject>;
  /** Undefined while the API server does not support the kind. */
  httpRoutes?: Store<KubeObject> | undefined;
  tlsRoutes?: Store<KubeObject> | undefined;
  ingressRouteTcps?: Store<KubeObject> | undefined;
  serviceMonitors: Store<KubeObject> | undefined;
  /** Undefined without permission to read Nodes. */
  nodes: Store<Host> | undefined;
};
