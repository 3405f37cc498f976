// What there is to be for a MediaCluster: all of its objects, from its spec and what is known of the world. Pure.
import type { ClusterFacts, Slot } from './facts.ts';
import { ingress } from './ingress.ts';
import type { ClusterObject, Service } from './manifests.ts';
import type { StoredCluster } from './owned.ts';
import { apiService, mediaService, nodeService, nodesService } from './services.ts';

/** Objects of the cluster as a whole, in the order in which they are to be applied. */
export function sharedObjects(cluster: StoredCluster, _facts: ClusterFacts): ClusterObject[] {
  return [nodesService(cluster), apiService(cluster), ...some(ingress(cluster))];
}

/** Objects that one pod needs before it: its Services and its claim. Allocation of node ports may refuse the media Service. */
export function slotObjects(cluster: StoredCluster, slot: Slot): { media: Service | undefined; others: ClusterObject[] } {
  return { media: mediaService(cluster, slot), others: [nodeService(cluster, slot.index)] };
}

const some = <T>(value: T | undefined): T[] => (value === undefined ? [] : [value]);
