// Finalizers, guarded by the resource version, because a merge patch replaces the whole shared list.
import type { KubeClient } from './client.ts';
import type { KubeObject, Resource, Stored } from './objects.ts';

export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

/**
 * Adds or removes the finalizer; sends a request only if that changes the list. `undefined` if the object does not exist any more, as
 * after the last finalizer of a deleted object.
 * @throws KubeError reason 'Conflict' if the object was changed concurrently, 'Forbidden' if one is added to an object being deleted
 */
export async function setFinalizer<T extends KubeObject>(
  client: Pick<KubeClient, 'patch'>,
  resource: Resource,
  object: Stored<T>,
  finalizer: string,
  wanted: boolean,
): Promise<Stored<T> | undefined> {
  if (hasFinalizer(object, finalizer) === wanted) return object;
  const { name, namespace, resourceVersion, finalizers = [] } = object.metadata;
  const changed = wanted ? [...finalizers, finalizer] : finalizers.filter((each) => each !== finalizer);
  return client.patch<T>(resource, { namespace, name }, { metadata: { resourceVersion, finalizers: changed } });
}
