// Metadata of the objects that the operator creates for a MediaCluster.
import { controllerReference, type Stored } from '../kube/objects.ts';
import type { MediaCluster } from '../objects.ts';
import type { OwnedMeta } from './manifests.ts';
import { commonLabels, label } from './names.ts';

export type StoredCluster = Stored<MediaCluster>;

type More = { labels?: Record<string, string>; annotations?: Record<string, string> | undefined; index?: number };

/** Metadata of an object of the cluster: owner reference and labels, which take precedence over `more`. */
export function ownedMeta(cluster: StoredCluster, name: string, more: More = {}): OwnedMeta {
  const annotations = more.annotations ?? {};
  return {
    name,
    namespace: namespaceOf(cluster),
    labels: {
      ...more.labels,
      ...commonLabels(cluster.metadata.name),
      ...(more.index === undefined ? {} : { [label.index]: String(more.index) }),
    },
    ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    ownerReferences: [controllerReference(cluster)],
  };
}

export function namespaceOf(cluster: StoredCluster): string {
  const { namespace } = cluster.metadata;
  if (namespace === undefined) throw new Error('A MediaCluster has no namespace');
  return namespace;
}
