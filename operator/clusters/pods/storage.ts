// PersistentVolumeClaim of an index, which keeps recordings, streams and undelivered events longer than a pod.
import type { PersistentVolumeClaim } from '../manifests.ts';
import { namesOf } from '../names.ts';
import { ownedMeta, type StoredCluster } from '../owned.ts';

/** Undefined if the cluster uses emptyDirs. The claim is owned by the cluster and deleted with it. */
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
      resources: { requests: { storage: size as string } },
    },
  };
}
