// Writer of the objects of MediaClusters: applies differences, never changes foreign objects, deletes objects no longer desired.
import { createHash } from 'node:crypto';
import { stableJson } from '../json.ts';
import type { ApplyResult, KubeClient } from '../kube/client.ts';
import type { ConditionReason } from '../kube/conditions.ts';
import { isUnavailable, KubeError } from '../kube/http/kube-error.ts';
import { isControlledBy, type KubeObject, keyOf, resources, type Stored } from '../kube/objects.ts';
import { cacheLagMs } from '../kube/store.ts';
import type { ClusterObject } from './manifests.ts';
import type { ClusterStores, Store } from './observed-objects.ts';
import type { StoredCluster } from './owned.ts';

/** Cache and resource of each kind. */
export const storeOfKind = {
  Service: 'services',
  ConfigMap: 'configMaps',
  Secret: 'secrets',
  ServiceAccount: 'serviceAccounts',
  PersistentVolumeClaim: 'persistentVolumeClaims',
  PodDisruptionBudget: 'podDisruptionBudgets',
  NetworkPolicy: 'networkPolicies',
  Ingress: 'ingresses',
  HTTPRoute: 'httpRoutes',
  TLSRoute: 'tlsRoutes',
  IngressRouteTCP: 'ingressRouteTcps',
  ServiceMonitor: 'serviceMonitors',
} as const satisfies Record<ClusterObject['kind'], keyof ClusterStores & keyof typeof resources>;

/** How long a rejected object is not retried unless it changes, in milliseconds. */
const refusalPause = 30_000;

type Known = { uid: string; hash: string; print: string; at: number; object: Stored };
type Refused = { hash: string; at: number; problem: ConditionReason };

export type OwnedObjectsOptions = { stores: ClusterStores; now: () => number };
type Client = Pick<KubeClient, 'apply' | 'delete' | 'find'>;

export class OwnedObjects {
  readonly #stores: ClusterStores;
  readonly #now: () => number;
  readonly #known = new Map<string, Known>();
  readonly #refused = new Map<string, Refused>();

  constructor({ stores, now }: OwnedObjectsOptions) {
    this.#stores = stores;
    this.#now = now;
  }

  /**
   * Applies an object, only if it differs from what was applied last or if it was changed since.
   * @returns a problem if the object is foreign or rejected by the API server
   * @throws KubeError if the API server is unavailable
   */
  async apply(
    client: Client,
    cluster: StoredCluster,
    object: ClusterObject,
  ): Promise<{ stored: Stored } | { problem: ConditionReason; error?: KubeError }> {
    const key = `${object.kind} ${keyOf(object)}`;
    const hash = digest(object);
    const known = this.#known.get(key);
    const copy = this.#storeOf(object.kind)?.get(keyOf(object));
    if (known?.hash === hash && known.uid === cluster.metadata.uid) {
      if (copy && known.print === printOf(copy)) return { stored: copy };
      if (this.#now() - known.at < cacheLagMs) return { stored: known.object };
    }
    const refused = this.#refused.get(key);
    if (refused?.hash === hash && this.#now() - refused.at < refusalPause) return { problem: refused.problem };
    const resource = resources[storeOfKind[object.kind]];
    // An object without our labels is not in the caches.
    const there = copy ?? (await client.find(resource, object.metadata));
    if (there && !isControlledBy(there, cluster.metadata.uid)) return { problem: notOurs(object) };
    try {
      const metadata = { ...object.metadata, ...(there ? { uid: there.metadata.uid } : {}) };
      const stored = await client.apply(resource, { ...object, metadata } as ApplyResult);
      this.#refused.delete(key);
      this.#known.set(key, { uid: cluster.metadata.uid, hash, print: printOf(stored), at: this.#now(), object: stored });
      return { stored };
    } catch (error) {
      if (!(error instanceof KubeError) || error.status === 0 || error.status === 409 || isUnavailable(error)) throw error;
      const problem = { reason: 'ObjectRefused', message: `${object.kind} "${object.metadata.name}" was rejected: ${error.message}` };
      this.#refused.set(key, { hash, at: this.#now(), problem });
      return { problem, error };
    }
  }

  /** Deletes owned objects of the pruned kinds that are not among the desired names (`Kind name`). */
  async prune(client: Client, cluster: StoredCluster, wanted: ReadonlySet<string>): Promise<string[]> {
    const removed: string[] = [];
    for (const kind of prunedKinds) {
      for (const object of this.#storeOf(kind)?.list() ?? []) {
        if (!isSurplus(cluster, kind, object, wanted)) continue;
        const { name, namespace, uid } = object.metadata;
        this.#known.delete(`${kind} ${keyOf(object)}`);
        if (await client.delete(resources[storeOfKind[kind]], { name, namespace }, { uid })) removed.push(`${kind} ${name}`);
      }
    }
    return removed;
  }

  /** Drops the state of a deleted cluster. */
  forget(namespace: string, uid: string): void {
    for (const [key, known] of this.#known) if (known.uid === uid) this.#known.delete(key);
    for (const key of this.#refused.keys()) if (key.includes(` ${namespace}/`)) this.#refused.delete(key);
  }

  #storeOf(kind: ClusterObject['kind']): Store<KubeObject> | undefined {
    return this.#stores[storeOfKind[kind]];
  }
}

/**
 * Generated Secrets are kept, because their content cannot be recreated; claims are kept, because they contain recordings. Both are
 * deleted with their MediaCluster. Routes are deleted before the Services that they name.
 */
const prunedKinds = ['Ingress', 'HTTPRoute', 'TLSRoute', 'IngressRouteTCP', 'Service', 'NetworkPolicy', 'ServiceMonitor'] as const;

/** Whether the cluster owns an object that is not desired any more. */
export function isSurplus(cluster: StoredCluster, kind: string, object: Stored, wanted: ReadonlySet<string>): boolean {
  return (
    object.metadata.deletionTimestamp === undefined &&
    isControlledBy(object, cluster.metadata.uid) &&
    !wanted.has(`${kind} ${object.metadata.name}`)
  );
}

function notOurs({ kind, metadata }: ClusterObject): ConditionReason {
  const message = `${kind} "${metadata.name}" already exists and is not controlled by this MediaCluster; it was not changed`;
  return { reason: 'NotOurs', message };
}

function digest(value: unknown): string {
  return createHash('sha256').update(stableJson(value)).digest('base64');
}

/** Fingerprint of the fields that a user may have changed, without status and server-managed metadata. */
function printOf(object: Stored): string {
  const { status, metadata, ...rest } = object as Stored & { status?: unknown };
  const { labels, annotations, ownerReferences } = metadata;
  return digest({ ...rest, labels, annotations, ownerReferences });
}
