// Status writer of our kinds: writes only if the status changes.
import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from './client.ts';
import { isConflict, KubeError } from './http/kube-error.ts';
import type { KubeObject, Resource, Stored } from './objects.ts';

/** Separate field manager, so that applying the spec never removes the status. */
export const statusManager = 'mediarooms-operator-status';

type WithStatus = KubeObject & { status?: unknown };

/**
 * Applies the whole status to the /status subresource; omitted fields are removed. @returns whether it was written
 * If the known object is stale, it is read again and its uid is compared, because /status ignores uids and the status must not be written
 * to a new object of the same name.
 * @throws KubeError 404 if the object does not exist, 409 if it was replaced or changes continuously
 */
export async function writeStatus<T extends WithStatus>(
  client: Pick<KubeClient, 'apply' | 'find'>,
  resource: Resource,
  object: Stored<T>,
  status: NonNullable<T['status']>,
): Promise<boolean> {
  return (await applyStatus(client, resource, object, status)) !== undefined;
}

/** Like writeStatus, but returns the stored object, or `undefined` if there was no change. */
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
    if (!now)
      throw new KubeError({ status: 404, reason: 'NotFound', message: `${resource.kind} ${namespace}/${name} does not exist any more.` });
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

/** As JSON has it: without `undefined` properties. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
