// The pod that this process runs in, where it runs in one.
import type { KubeClient } from './kube/client.ts';
import { controllerOwner, type KubeObject, type OwnerReference, resources } from './kube/objects.ts';

/**
 * What controls the pod of that name, the ReplicaSet of the operator's Deployment: what it owns goes when the operator is uninstalled.
 * undefined where there is no such pod, or it may not be read.
 */
export async function ownReplicaSet(
  client: Pick<KubeClient, 'list'>,
  namespace: string,
  name: string,
): Promise<OwnerReference | undefined> {
  const found = await client.list<KubeObject>(resources.pods, { namespace, fieldSelector: `metadata.name=${name}` }).catch(() => undefined);
  const [pod] = found?.items ?? [];
  const controller = pod && controllerOwner(pod);
  if (controller === undefined) return undefined;
  const { apiVersion, kind, uid } = controller;
  return { apiVersion, kind, name: controller.name, uid };
}
