// MediaCluster lookups of the Room controller, answered from reflector caches.
import type { ConditionReason } from '../kube/conditions.ts';
import { isControlledBy, type Stored } from '../kube/objects.ts';
import type { MediaCluster } from '../objects.ts';
import type { ClusterAccess, ClusterNode } from '../rooms/cluster-access.ts';
import { indexOf } from './names.ts';
import { publicUrl } from './network/ingress.ts';
import type { ClusterStores } from './observed-objects.ts';
import { urlOf } from './pods/fleet.ts';
import type { HostMonitor } from './pods/hosts.ts';
import { isReady } from './pods/observe-pod.ts';
import { decodeSecret, operatorToken, secretsOf } from './secrets/secret-values.ts';
import { isSigned } from './secrets/signed-calls.ts';

export class ClusterLookup implements ClusterAccess {
  readonly #stores: Pick<ClusterStores, 'mediaClusters' | 'pods' | 'secrets'>;
  readonly #hosts: HostMonitor;

  constructor(stores: Pick<ClusterStores, 'mediaClusters' | 'pods' | 'secrets'>, hosts: HostMonitor) {
    this.#stores = stores;
    this.#hosts = hosts;
  }

  find(namespace: string, name: string | undefined): { cluster: Stored<MediaCluster> } | ConditionReason {
    if (name !== undefined) {
      const cluster = this.#stores.mediaClusters.get(`${namespace}/${name}`);
      if (cluster) return { cluster };
      return { reason: 'ClusterNotFound', message: `Namespace "${namespace}" has no MediaCluster "${name}".` };
    }
    const all = this.#stores.mediaClusters.list().filter((each) => each.metadata.namespace === namespace);
    const [only] = all;
    if (!only) return { reason: 'ClusterNotFound', message: `Namespace "${namespace}" has no MediaCluster.` };
    if (all.length === 1) return { cluster: only };
    return {
      reason: 'ClusterNotNamed',
      message: `Namespace "${namespace}" has ${all.length} MediaClusters: set spec.clusterRef.name to select one.`,
    };
  }

  nodes(namespace: string, name: string): ClusterNode[] {
    const cluster = this.#stores.mediaClusters.get(`${namespace}/${name}`);
    if (!cluster) return [];
    return this.#stores.pods.list().flatMap((pod): ClusterNode[] => {
      const url = urlOf(pod);
      const { phase } = pod.status ?? {};
      const mine = pod.metadata.namespace === namespace && isControlledBy(pod, cluster.metadata.uid) && indexOf(pod) !== undefined;
      if (!mine || url === undefined || phase === 'Failed' || phase === 'Succeeded') return [];
      const host = pod.spec?.nodeName;
      const lost = host !== undefined && this.#hosts.timeUntilLost(host) === 0;
      const terminating = pod.metadata.deletionTimestamp !== undefined;
      return [
        {
          pod: pod.metadata.name,
          ...(host ? { host } : {}),
          url,
          signed: isSigned(cluster, pod),
          ready: isReady(pod) && !lost,
          terminating,
          lost,
        },
      ];
    });
  }

  async prepare(namespace: string, name: string): Promise<void> {
    const cluster = this.#stores.mediaClusters.get(`${namespace}/${name}`);
    if (cluster) await this.#stores.secrets.read(namespace, [secretsOf(cluster).apiTokens]);
  }

  token(namespace: string, name: string): string | undefined {
    const cluster = this.#stores.mediaClusters.get(`${namespace}/${name}`);
    if (!cluster) return undefined;
    const secret = secretsOf(cluster).apiTokens;
    const stored = this.#stores.secrets.get(`${namespace}/${secret}`);
    return stored && operatorToken(cluster, new Map([[secret, decodeSecret(stored)]]));
  }

  publicUrl(cluster: Stored<MediaCluster>): string | undefined {
    return publicUrl(cluster.spec);
  }
}
