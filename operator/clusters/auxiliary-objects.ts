// The small objects beside the pods of a MediaCluster: who they are, how many may go, and who scrapes them.
import type { ClusterContext } from './cluster-context.ts';
import type { PodDisruptionBudget, ServiceAccount, ServiceMonitor } from './manifests.ts';
import { label, namesOf, podSelector } from './names.ts';
import { ownedMeta, type StoredCluster } from './owned.ts';

/** Media nodes ask nothing of the API server. */
export function serviceAccount(cluster: StoredCluster): ServiceAccount {
  const metadata = ownedMeta(cluster, namesOf(cluster.metadata.name).serviceAccount);
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata, automountServiceAccountToken: false };
}

/** More than a cluster ever has. */
const allOfThem = 1000;

/**
 * No busy pod may be evicted; one that is not ready may. `maxUnavailable: 0` would say the same, but is counted from `spec.replicas` of the
 * MediaCluster (its scale subresource): too few while the operator scales, or while a new pod stands beside an old one, and a busy pod would
 * go. A number of pods is counted from the pods themselves.
 */
export function disruptionBudget(cluster: StoredCluster): PodDisruptionBudget {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: ownedMeta(cluster, namesOf(cluster.metadata.name).disruptionBudget),
    spec: {
      minAvailable: allOfThem,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: { matchLabels: { ...podSelector(cluster.metadata.name), [label.busy]: 'true' } },
    },
  };
}

/** Scrapes all pods through the headless Service; undefined where none is wanted or the kind does not exist. */
export function serviceMonitor(cluster: StoredCluster, facts: Pick<ClusterContext, 'serviceMonitors'>): ServiceMonitor | undefined {
  const wanted = cluster.spec.monitoring?.serviceMonitor;
  if (wanted === undefined || !facts.serviceMonitors) return undefined;
  const { name } = cluster.metadata;
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'ServiceMonitor',
    metadata: ownedMeta(cluster, namesOf(name).serviceMonitor, { ...(wanted.labels ? { labels: wanted.labels } : {}) }),
    spec: {
      selector: { matchLabels: { [label.cluster]: name, [label.service]: 'nodes' } },
      endpoints: [{ port: 'metrics', ...(wanted.interval === undefined ? {} : { interval: wanted.interval }) }],
    },
  };
}
