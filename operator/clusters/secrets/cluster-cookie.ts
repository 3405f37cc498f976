// Effective cookie of a cluster: nodes of two cookies do not connect, so a changed cookie waits until the cluster has no pod.
import type { KubeClient } from '../../kube/client.ts';
import type { ConditionReason } from '../../kube/conditions.ts';
import { isControlledBy, resources } from '../../kube/objects.ts';
import { cookieKey, namesOf } from '../names.ts';
import type { ObservedSecret } from '../observed-objects.ts';
import { namespaceOf, type StoredCluster } from '../owned.ts';
import { decodeSecret, secretsOf } from './secret-values.ts';

type Client = Pick<KubeClient, 'find'>;

export class ClusterCookies {
  /** By uid of the cluster. Not read from a cache, which may still contain the cookie before the last write. */
  readonly #effective = new Map<string, string>();

  /** The cookie to distribute. `given`: that of the Secret. @returns a problem too, if it has to wait */
  async choose(
    client: Client,
    cluster: StoredCluster,
    given: string,
    hasPods: boolean,
  ): Promise<{ cookie: string; problem?: ConditionReason }> {
    const { uid } = cluster.metadata;
    const before = this.#effective.get(uid) ?? (await stored(client, cluster));
    const cookie = hasPods ? (before ?? given) : given;
    this.#effective.set(uid, cookie);
    return cookie === given ? { cookie } : { cookie, problem: changed(secretsOf(cluster).cookie) };
  }

  /** Drops the state of a deleted cluster. */
  forget(uid: string): void {
    this.#effective.delete(uid);
  }
}

/** The cookie that an earlier process of the operator distributed. */
async function stored(client: Client, cluster: StoredCluster): Promise<string | undefined> {
  const ref = { namespace: namespaceOf(cluster), name: namesOf(cluster.metadata.name).config };
  const secret = await client.find<ObservedSecret>(resources.secrets, ref);
  return secret && isControlledBy(secret, cluster.metadata.uid) ? decodeSecret(secret)[cookieKey] : undefined;
}

function changed(secret: string): ConditionReason {
  const message = `the cookie in Secret "${secret}" was changed; it becomes effective when the cluster has no pod: scale it to 0, then back`;
  return { reason: 'CookieChanged', message };
}
