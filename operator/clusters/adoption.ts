// Adoption: objects with the labels of a MediaCluster but without a controller become its own, for example after a restore from a backup or
// after `kubectl delete --cascade=orphan`.
import type { KubeClient } from '../kube/client.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import { isConflict } from '../kube/http/kube-error.ts';
import { controllerOwner, controllerReference, type KubeObject, resources, type Stored } from '../kube/objects.ts';
import { commonLabels, indexOf } from './names.ts';
import type { ClusterStores } from './observed-objects.ts';
import { namespaceOf, type StoredCluster } from './owned.ts';
import { storeOfKind } from './owned-objects.ts';

type Client = Pick<KubeClient, 'find' | 'patch'>;
const kinds = { ...storeOfKind, Pod: 'pods' } as const;
/** Names in the message of an Event. */
const maxNamed = 10;

export class Adoption {
  readonly #stores: ClusterStores;
  readonly #recorder: Pick<EventRecorder, 'emit'>;

  constructor({ stores, recorder }: { stores: ClusterStores; recorder: Pick<EventRecorder, 'emit'> }) {
    this.#stores = stores;
    this.#recorder = recorder;
  }

  /**
   * Adopts all objects that can be adopted. @returns whether there were any: the caches are then not current
   * @throws KubeError if the API server is unavailable
   */
  async adopt(client: Client, cluster: StoredCluster): Promise<boolean> {
    const found = Object.entries(kinds).flatMap(([kind, store]) =>
      ((this.#stores[store]?.list() ?? []) as Stored<KubeObject>[])
        .filter((object) => isAdoptable(object, cluster) && (kind !== 'Pod' || indexOf(object) !== undefined))
        .map((object) => ({ kind, resource: resources[store], object })),
    );
    if (found.length === 0) return false;
    // The garbage collector removes a MediaCluster that is deleted with --cascade=orphan from the owners; it must not be added again.
    if (!(await isLive(client, cluster))) return true;
    const adopted: string[] = [];
    for (const { kind, resource, object } of found) {
      const { name, namespace, uid, resourceVersion, ownerReferences = [] } = object.metadata;
      const metadata = { uid, resourceVersion, ownerReferences: [...ownerReferences, controllerReference(cluster)] };
      try {
        if (await client.patch(resource, { namespace, name }, { metadata })) adopted.push(`${kind} ${name}`);
      } catch (error) {
        // It was changed or replaced concurrently; the next reconcile sees it.
        if (!isConflict(error)) throw error;
      }
    }
    if (adopted.length > 0) this.#recorder.emit(cluster, 'Normal', 'Adopted', 'Adopt', `Adopted ${listed(adopted)}.`);
    return true;
  }
}

/** Whether an object has all labels of the objects of the cluster and no controller. */
export function isAdoptable(object: KubeObject, cluster: StoredCluster): boolean {
  const { namespace, deletionTimestamp, labels = {} } = object.metadata;
  return (
    namespace === namespaceOf(cluster) &&
    deletionTimestamp === undefined &&
    controllerOwner(object) === undefined &&
    Object.entries(commonLabels(cluster.metadata.name)).every(([name, value]) => labels[name] === value)
  );
}

/** Reads from the API server, because the cache may not contain the deletion yet. */
async function isLive(client: Client, { metadata: { namespace, name, uid } }: StoredCluster): Promise<boolean> {
  const now = await client.find(resources.mediaClusters, { namespace, name });
  return now?.metadata.uid === uid && now.metadata.deletionTimestamp === undefined;
}

function listed(names: readonly string[]): string {
  const more = names.length - maxNamed;
  return `${names.slice(0, maxNamed).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
