// Kubernetes objects as raw JSON, and the kinds that the operator uses.
import { apiVersions } from '../../crds/types.ts';

/** Metadata of an object; times are RFC 3339 texts. */
export type ObjectMeta = {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
};

export type OwnerReference = {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
};

export type KubeObject = { apiVersion: string; kind: string; metadata: ObjectMeta };

/** An object from the API server, with the fields that it always has. */
export type Stored<T extends KubeObject = KubeObject> = T & {
  metadata: ObjectMeta & { uid: string; resourceVersion: string };
};

/** A kind and its location in the API. */
export type Resource = { apiVersion: string; kind: string; plural: string; namespaced: boolean };

function namespaced(apiVersion: string, kind: string, plural: string): Resource {
  return { apiVersion, kind, plural, namespaced: true };
}

export const resources = {
  rooms: namespaced(apiVersions.Room, 'Room', 'rooms'),
  mediaClusters: namespaced(apiVersions.MediaCluster, 'MediaCluster', 'mediaclusters'),
  pods: namespaced('v1', 'Pod', 'pods'),
  services: namespaced('v1', 'Service', 'services'),
  configMaps: namespaced('v1', 'ConfigMap', 'configmaps'),
  secrets: namespaced('v1', 'Secret', 'secrets'),
  serviceAccounts: namespaced('v1', 'ServiceAccount', 'serviceaccounts'),
  persistentVolumeClaims: namespaced('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims'),
  events: namespaced('events.k8s.io/v1', 'Event', 'events'),
  leases: namespaced('coordination.k8s.io/v1', 'Lease', 'leases'),
  podDisruptionBudgets: namespaced('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets'),
  networkPolicies: namespaced('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies'),
  ingresses: namespaced('networking.k8s.io/v1', 'Ingress', 'ingresses'),
  httpRoutes: namespaced('gateway.networking.k8s.io/v1', 'HTTPRoute', 'httproutes'),
  tlsRoutes: namespaced('gateway.networking.k8s.io/v1', 'TLSRoute', 'tlsroutes'),
  ingressRouteTcps: namespaced('traefik.io/v1alpha1', 'IngressRouteTCP', 'ingressroutetcps'),
  serviceMonitors: namespaced('monitoring.coreos.com/v1', 'ServiceMonitor', 'servicemonitors'),
  nodes: { apiVersion: 'v1', kind: 'Node', plural: 'nodes', namespaced: false },
  namespaces: { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false },
  customResourceDefinitions: {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    plural: 'customresourcedefinitions',
    namespaced: false,
  },
} as const satisfies Record<string, Resource>;

export const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** Key of stores and queues: `namespace/name`, or the name of a cluster-scoped object. */
export function keyOf(object: KubeObject): string {
  return object.metadata.namespace === undefined ? object.metadata.name : `${object.metadata.namespace}/${object.metadata.name}`;
}

/** Without the copy of the object that `kubectl apply` keeps: it is as large as the object, and contains the data of a Secret. */
export function withoutAppliedCopy<T extends KubeObject>(object: Stored<T>): Stored<T> {
  delete object.metadata.annotations?.[lastApplied];
  return object;
}

/** Controller reference to `owner`; the garbage collector follows it. */
export function controllerReference(owner: Stored): OwnerReference {
  const { apiVersion, kind } = owner;
  return { apiVersion, kind, name: owner.metadata.name, uid: owner.metadata.uid, controller: true, blockOwnerDeletion: true };
}

/** The controlling owner; an object has at most one. */
export function controllerOwner({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

/** Whether the owner with that uid controls the object. */
export function isControlledBy(object: KubeObject, uid: string): boolean {
  return controllerOwner(object)?.uid === uid;
}

/** Whether its controller had kind and name of `owner` but another uid: the garbage collector is about to delete the object. */
export function isOrphanOf(object: KubeObject, owner: Stored): boolean {
  const before = controllerOwner(object);
  return before?.kind === owner.kind && before.name === owner.metadata.name && before.uid !== owner.metadata.uid;
}
