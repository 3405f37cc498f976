// ServiceAccount, PodDisruptionBudget and ServiceMonitor of a MediaCluster.
import type { ClusterContext } from './cluster-context.ts';
import type { PodDisruptionBudget, ServiceAccount, ServiceMonitor } from './manifests.ts';
import { label, namesOf, podSelector } from './names.ts';
import { ownedMeta, type StoredCluster } from './owned.ts';

/** Media nodes do not use the Kubernetes API. */
export function serviceAccount(cluster: StoredCluster): ServiceAccount {
  const metadata = ownedMeta(cluster, namesOf(cluster.metadata.name).serviceAccount);
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata, automountServiceAccountToken: false };
}

/**
 * Forbids the eviction of busy pods; pods that are not ready may be evicted. `maxUnavailable: 0` and percentages do not work: they are
 * computed from `spec.replicas` of the MediaCluster (its scale subresource), which is too low during scaling and rollouts, so a busy pod
 * would be evicted. `minAvailable` is the exact number of busy pods: with a higher one the budget would never be healthy, which
 * kube-prometheus reports (KubePdbNotEnoughHealthyPods).
 */
export function disruptionBudget(cluster: StoredCluster, busyPods: number): PodDisruptionBudget {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: ownedMeta(cluster, namesOf(cluster.metadata.name).disruptionBudget),
    spec: {
      minAvailable: busyPods,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: { matchLabels: { ...podSelector(cluster.metadata.name), [label.busy]: 'true' } },
    },
  };
}

/** Prometheus has the labels of a Service in this form. */
const clusterOfService = `__meta_kubernetes_service_label_${label.cluster.replace(/\W/g, '_')}`;

/** Scrapes all pods through the headless Service; undefined if disabled or if the API server does not support ServiceMonitors. */
export function serviceMonitor(cluster: StoredCluster, facts: Pick<ClusterContext, 'serviceMonitors'>): ServiceMonitor | undefined {
  const wanted = cluster.spec.monitoring?.serviceMonitor;
  if (wanted === undefined || !facts.serviceMonitors) return undefined;
  const { name } = cluster.metadata;
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'ServiceMonitor',
    metadata: ownedMeta(cluster, namesOf(name).serviceMonitor, { ...(wanted.labels ? { labels: wanted.labels } : {}) }),
    spec: {
      // The alerts are about the job `mediarooms`; without this, the job has the name of the Service.
      jobLabel: 'app.kubernetes.io/name',
      selector: { matchLabels: { [label.cluster]: name, [label.service]: 'nodes' } },
      endpoints: [
        {
          port: 'metrics',
          ...(wanted.interval === undefined ? {} : { interval: wanted.interval }),
          relabelings: [{ sourceLabels: [clusterOfService], targetLabel: 'mediacluster' }],
        },
      ],
    },
  };
}
