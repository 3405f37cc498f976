// The status of our own kinds, written only where it says something new.
import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from './client.ts';
import { isConflict, KubeError } from './http/kube-error.ts';
import type { KubeObject, Resource, Stored } from './objects.ts';

/** Its own field manager, so that applying the spec never takes the status away. */
export const statusManager = 'mediarooms-operator-status';

type WithStatus = KubeObject & { status?: unknown };

/**
 * Applies the whole status to the /status subresource; fields that are left out are removed. Says whether it was written.
 * What is known of the object may be old: then it is read again, as its uid must be the same (the API server itself takes no
 * notice of a uid there, and a status must not go to another object that has the name by now).
 * @throws KubeError 404 where the object is gone, 409 where another one has its name or it changes all the time
 */
export async function writeStatus<T extends WithStatus>(
  client: Pick<KubeClient, 'apply' | 'find'>,
  resource: Resource,
  object: Stored<T>,
  status: NonNullable<T['status']>,
): Promise<boolean> {
  return (await applyStatus(client, resource, object, status)) !== undefined;
}

/** As writeStatus; gives the object as it is stored then, or `undefined` where there was nothing to write. */
export async function applyStatus<T extends WithStatus>(
  client: Pick<KubeClient, 'apply' | 'find'>,
  resource: Resource,
  object: Stored<T>,
  status: NonNullable<T['status']>,
): Promise<Stored<T> | undefined> {
  const wanted = plain(status);
  if (isDeepStrictEqual(wanted, object.status ?? {})) return undefined;
  try {
    return await apply(client, resource, object, wanted);
  } catch (error) {
    if (!isConflict(error)) throw error;
    const { name, namespace, uid } = object.metadata;
    const now = await client.find<T>(resource, { namespace, name });
    if (!now) throw new KubeError({ status: 404, reason: 'NotFound', message: `${resource.kind} ${namespace}/${name} is gone.` });
    if (now.metadata.uid !== uid) throw error;
    if (isDeepStrictEqual(wanted, now.status ?? {})) return undefined;
    return apply(client, resource, now, wanted);
  }
}

function apply<T extends WithStatus>(
  client: Pick<KubeClient, 'apply'>,
  resource: Resource,
  object: Stored<T>,
  status: unknown,
): Promise<Stored<T>> {
  const { apiVersion, kind } = resource;
  const { name, namespace, resourceVersion } = object.metadata;
  const metadata = { name, namespace, resourceVersion };
  return client.apply<T>(resource, { apiVersion, kind, metadata, status }, { subresource: 'status', fieldManager: statusManager });
}

/** As JSON has it: without properties that are `undefined`. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
