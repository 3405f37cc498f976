// What the controller reads of stored objects, and where it reads them: the copies that reflectors keep.
import type { KubeObject, Stored } from '../kube/objects.ts';
import type { MediaCluster } from '../objects.ts';
import type { Host } from './pods/hosts.ts';

type ContainerState = {
  running?: Record<string, unknown>;
  waiting?: { reason?: string; message?: string };
  terminated?: { reason?: string; message?: string; exitCode?: number };
};

export type ObservedPod = KubeObject & {
  spec?: { nodeName?: string; containers?: { ports?: { name?: string; containerPort: number }[] }[] };
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    podIP?: string;
    hostIP?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    containerStatuses?: { name: string; state?: ContainerState }[];
  };
};
export type ObservedSecret = KubeObject & { data?: Readonly<Record<string, string>> };
export type ObservedService = KubeObject & {
  spec?: { type?: string; ipFamilies?: string[]; ports?: { port: number; nodePort?: number }[] };
  status?: { loadBalancer?: { ingress?: { ip?: string; hostname?: string }[] } };
};

/** A reflector, as far as its copies are read. Keys are `namespace/name`. */
export type Store<T extends KubeObject> = {
  get: (key: string) => Stored<T> | undefined;
  list: () => Stored<T>[];
  readonly synced: boolean;
};

/** Secrets must be watched whole; of other kinds those with the label `app.kubernetes.io/managed-by=mediarooms-operator` are enough. */
export type ClusterStores = {
  mediaClusters: Store<MediaCluster>;
  pods: Store<ObservedPod>;
  secrets: Store<ObservedSecret>;
  services: Store<ObservedService>;
  configMaps: Store<KubeObject>;
  serviceAccounts: Store<KubeObject>;
  persistentVolumeClaims: Store<KubeObject>;
  podDisruptionBudgets: Store<KubeObject>;
  networkPolicies: Store<KubeObject>;
  ingresses: Store<KubeObject>;
  /** These two are undefined as long as the API server does not know the kind. */
  httpRoutes?: Store<KubeObject> | undefined;
  serviceMonitors: Store<KubeObject> | undefined;
  /** Undefined without the permission to read Nodes. */
  nodes: Store<Host> | undefined;
};
