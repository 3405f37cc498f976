// Writes the peer Secret of a Room, never a foreign Secret.
import type { KubeClient } from '../kube/client.ts';
import { isAlreadyExists } from '../kube/http/kube-error.ts';
import { resources, type Stored } from '../kube/objects.ts';
import type { Room } from '../objects.ts';
import type { Secret } from './desired-components.ts';
import { type PeerCredentials, peerSecret, peerSecretName } from './peer-secret.ts';

type Client = Pick<KubeClient, 'create' | 'find' | 'patch' | 'delete'>;

/**
 * @returns the stored Secret; undefined if it was deleted concurrently. A Secret created concurrently under the name is returned unchanged.
 * @throws KubeError reason 'Conflict' if it was changed concurrently
 */
export async function writePeerSecret(
  client: Client,
  room: Stored<Room>,
  found: Stored<Secret> | undefined,
  peers: ReadonlyMap<string, PeerCredentials>,
  keyGeneration: number,
): Promise<Stored<Secret> | undefined> {
  const secret = peerSecret(room, peers, keyGeneration);
  const { namespace, name } = secret.metadata;
  if (!found) {
    try {
      return await client.create<Secret>(resources.secrets, secret);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return client.find<Secret>(resources.secrets, { namespace, name });
    }
  }
  const { uid, resourceVersion } = found.metadata;
  const removed = Object.keys(found.data ?? {}).filter((key) => !(key in secret.data));
  const data = { ...Object.fromEntries(removed.map((key) => [key, null])), ...secret.data };
  const { annotations, labels } = secret.metadata;
  return client.patch<Secret>(resources.secrets, { namespace, name }, { metadata: { uid, resourceVersion, annotations, labels }, data });
}

export async function deletePeerSecret(client: Client, room: Stored<Room>, found: Stored<Secret>): Promise<void> {
  const { namespace } = room.metadata;
  await client.delete(resources.secrets, { namespace, name: peerSecretName(room.metadata) }, { uid: found.metadata.uid });
}
