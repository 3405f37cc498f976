// NetworkPolicy of a MediaCluster, from the traffic table. Only ingress is limited: nodes connect to DNS, S3, webhooks and clients.

import type { NetworkPolicyPeer } from '../../kube/kinds.ts';
import type { ClusterContext } from '../cluster-context.ts';
import type { NetworkPolicy, PolicyPort } from '../manifests.ts';
import { namesOf, podSelector } from '../names.ts';
import { ownedMeta, type StoredCluster } from '../owned.ts';
import { type NetworkRule, networkRules, type TrafficSource } from './network-rules.ts';

/** Undefined if disabled. */
export function networkPolicy(
  cluster: StoredCluster,
  facts: Pick<ClusterContext, 'nodePortRange' | 'livePorts'>,
): NetworkPolicy | undefined {
  const wanted = cluster.spec.networkPolicy;
  if (wanted?.enabled === false) return undefined;
  const { name } = cluster.metadata;
  const senders: Record<TrafficSource, NetworkPolicyPeer[] | undefined> = {
    anyone: undefined,
    cluster: [...everywhere, ...(wanted?.httpFrom ?? [])],
    nodes: [{ podSelector: { matchLabels: podSelector(name) } }],
    // An empty list would allow all sources.
    monitoring: wanted?.monitoringFrom?.length ? wanted.monitoringFrom : everywhere,
  };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: ownedMeta(cluster, namesOf(name).networkPolicy),
    spec: {
      podSelector: { matchLabels: podSelector(name) },
      policyTypes: ['Ingress'],
      ingress: networkRules(cluster.spec, facts).map((row) => {
        const from = senders[row.from];
        return { ...(from === undefined ? {} : { from }), ports: portsOf(row) };
      }),
    },
  };
}

/** All pods of the Kubernetes cluster. */
const everywhere: NetworkPolicyPeer[] = [{ namespaceSelector: {} }];

function portsOf({ protocols, ports: { from, to } }: NetworkRule): PolicyPort[] {
  return protocols.map((protocol) => ({ protocol, port: from, ...(to > from ? { endPort: to } : {}) }));
}
