// Finalizers, guarded by the resource version, because a merge patch replaces the whole shared list.
import type { KubeClient } from './client.ts';
import type { KubeObject, Resource, Stored } from './objects.ts';

type Patching = Pick<KubeClient, 'patch'>;

export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

/**
 * Adds the finalizer; sends a request only if it is missing. `undefined` if the object does not exist any more.
 * @throws KubeError reason 'Conflict' if the object was changed concurrently, 'Forbidden' if it is being deleted
 */
export async function addFinalizer<T extends KubeObject>(
  client: Patching,
  resource: Resource,
  object: Stored<T>,
  finalizer: string,
): Promise<Stored<T> | undefined> {
  if (hasFinalizer(object, finalizer)) return object;
  return write(client, resource, object, [...(object.metadata.finalizers ?? []), finalizer]);
}

/** Removes the finalizer. `undefined` if the object does not exist any more, as after the last finalizer of a deleted object. */
export async function removeFinalizer<T extends KubeObject>(
  client: Patching,
  resource: Resource,
  object: Stored<T>,
  finalizer: string,
): Promise<Stored<T> | undefined> {
  if (!hasFinalizer(object, finalizer)) return object;
  return write(
    client,
    resource,
    object,
    object.metadata.finalizers?.filter((name) => name !== finalizer),
  );
}

async function write<T extends KubeObject>(
  client: Patching,
  resource: Resource,
  object: Stored<T>,
  finalizers: string[] | undefined,
): Promise<Stored<T> | undefined> {
  const { name, namespace, resourceVersion } = object.metadata;
  return client.patch<T>(resource, { namespace, name }, { metadata: { resourceVersion, finalizers: finalizers ?? [] } });
}
