// Finalizers, guarded by the resource version: a merge patch replaces the whole list, which others write too.
import type { KubeClient } from './client.ts';
import type { KubeObject, Resource, Stored } from './objects.ts';

type Patching = Pick<KubeClient, 'patch'>;

export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

/**
 * The object with the finalizer; asks the API server only where it is missing. `undefined`: the object is gone.
 * @throws KubeError reason 'Conflict' where the object changed meanwhile, 'Forbidden' where it is being deleted
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

/** The object without the finalizer, or `undefined` where it is gone, as it is when this was the last one of a deleted object. */
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
