// The pod of this process, if it runs in a pod.
import type { KubeClient } from './kube/client.ts';
import { controllerOwner, type KubeObject, type OwnerReference, resources } from './kube/objects.ts';

/**
 * Controller of the pod with that name, the ReplicaSet of the Deployment. Objects that it owns are deleted with the operator.
 * undefined if the pod does not exist or cannot be read.
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
