// The status of our own kinds, written only where it says something new.
import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from './client.ts';
import type { KubeObject, Resource, Stored } from './objects.ts';

/** Its own field manager, so that applying the spec never takes the status away. */
export const statusManager = 'mediarooms-operator-status';

/**
 * Applies the whole status to the /status subresource; fields that are left out are removed. Says whether it was written.
 * @throws KubeError 404 where the object is gone, 409 where another one has its name by now
 */
export async function writeStatus<T extends KubeObject & { status?: unknown }>(
  client: Pick<KubeClient, 'apply'>,
  resource: Resource,
  object: Stored<T>,
  status: NonNullable<T['status']>,
): Promise<boolean> {
  if (isDeepStrictEqual(plain(status), object.status ?? {})) return false;
  const { apiVersion, kind } = resource;
  const { name, namespace, uid } = object.metadata;
  await client.apply(
    resource,
    { apiVersion, kind, metadata: { name, namespace, uid }, status },
    { subresource: 'status', fieldManager: statusManager },
  );
  return true;
}

/** As JSON has it: without properties that are `undefined`. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
