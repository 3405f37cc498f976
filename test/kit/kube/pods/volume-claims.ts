// Storage of fake Kubernetes nodes: each PersistentVolumeClaim gets a volume, which is a folder of this machine.
import { mkdirSync } from 'node:fs';
import type { JsonClient } from '../https-json.ts';
import type { ApiObject } from './pod-spec.ts';

type Claim = ApiObject & {
  spec: { volumeName?: string; storageClassName?: string; accessModes?: string[]; resources?: { requests?: { storage?: string } } };
};

/** Creates the volume; a Kubernetes controller binds the two. */
export async function bindClaim(client: JsonClient, object: ApiObject, folder: string): Promise<void> {
  const { metadata, spec } = object as Claim;
  if (spec.volumeName || metadata.deletionTimestamp !== undefined) return;
  mkdirSync(folder, { recursive: true });
  const body = {
    metadata: { name: `pvc-${metadata.uid}` },
    spec: {
      capacity: { storage: spec.resources?.requests?.storage ?? '1Gi' },
      accessModes: spec.accessModes ?? ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: spec.storageClassName ?? '',
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: metadata.namespace, name: metadata.name, uid: metadata.uid },
      hostPath: { path: folder },
    },
  };
  // It may already exist, and a failure is retried with the next change of the claim.
  await client.call('/api/v1/persistentvolumes', { method: 'POST', body }).catch(() => {});
}
