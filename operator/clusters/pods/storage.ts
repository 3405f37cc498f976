// The claim of an index, where recordings, streams and undelivered events outlive a pod.
import type { PersistentVolumeClaim } from '../manifests.ts';
import { namesOf } from '../names.ts';
import { ownedMeta, type StoredCluster } from '../owned.ts';

/** Undefined where the cluster keeps its files in emptyDirs. The claim belongs to the cluster and goes with it. */
export function persistentVolumeClaim(cluster: StoredCluster, index: number): PersistentVolumeClaim | undefined {
  const wanted = cluster.spec.storage?.persistentVolumeClaim;
  if (wanted === undefined) return undefined;
  const { accessModes, size, storageClassName } = wanted;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: ownedMeta(cluster, namesOf(cluster.metadata.name).claim(index), { index }),
    spec: {
      accessModes: accessModes ?? ['ReadWriteOnce'],
      ...(storageClassName === undefined ? {} : { storageClassName }),
      resources: { requests: { storage: size } },
    },
  };
}
