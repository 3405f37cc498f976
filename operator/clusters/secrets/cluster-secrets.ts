// Secrets of a cluster: reads them from caches, creates missing ones once, rotates keys and renews certificates.
import type { KubeClient } from '../../kube/client.ts';
import type { ConditionReason } from '../../kube/conditions.ts';
import { isAlreadyExists, isConflict } from '../../kube/http/kube-error.ts';
import { isControlledBy, isOrphanOf, keyOf, resources, type Stored } from '../../kube/objects.ts';
import { cacheLagMs } from '../../kube/store.ts';
import type { SecretData } from '../cluster-context.ts';
import type { Secret } from '../manifests.ts';
import { annotation } from '../names.ts';
import type { ObservedSecret, Store } from '../observed-objects.ts';
import { namespaceOf, type StoredCluster } from '../owned.ts';
import { certificateStep } from './certificates.ts';
import { missingSecrets, newSecret, type RandomBytes, secretOf } from './generated-secrets.ts';
import { type KeyStep, keyStep, rotationOf, rotationText } from './keys.ts';
import { decodeSecret, secretNames, secretsOf } from './secret-values.ts';

type Client = Pick<KubeClient, 'create' | 'find' | 'patch'>;

/** Peer tokens are valid for 24 hours (REST API of the node); the rest is tolerance for clock skew. */
export const tokenLifetime = 25 * 3_600_000;

export type ClusterSecretsOptions = {
  store: Store<ObservedSecret>;
  random: RandomBytes;
  /** Monotonic milliseconds. */
  now: () => number;
  clock: () => Date;
  tokenLifetimeMs?: number;
};

export type RotationState = {
  /** Generation of the last completed rotation. */
  generation: number;
  message: string | undefined;
  problem: ConditionReason | undefined;
  /** Whether keys were just written, so that configuration files must be generated again. */
  changed: boolean;
  /** Milliseconds until the next step if nothing changes; undefined if no step is pending. */
  dueIn: number | undefined;
};

export class ClusterSecrets {
  readonly #options: ClusterSecretsOptions;
  readonly #fresh = new Map<string, { secret: Stored<ObservedSecret>; at: number }>();

  constructor(options: ClusterSecretsOptions) {
    this.#options = options;
  }

  /** The existing Secrets that the cluster uses, by name. */
  read(cluster: StoredCluster): Map<string, SecretData> {
    const found = secretNames(cluster).flatMap((name) => {
      const secret = this.#get(cluster, name);
      return secret ? [[name, decodeSecret(secret)] as const] : [];
    });
    return new Map(found);
  }

  /** Creates missing Secrets that the operator generates. @returns their names */
  async make(client: Client, cluster: StoredCluster): Promise<string[]> {
    const made: string[] = [];
    for (const secret of missingSecrets(cluster, { secrets: this.read(cluster) }, this.#options.random))
      if (await this.#create(client, cluster, secret)) made.push(secret.metadata.name);
    return made;
  }

  /** Creates or renews the certificate of the nodes and its CA, if the operator manages them. @returns a message about the change */
  async certify(client: Client, cluster: StoredCluster): Promise<string | undefined> {
    const { certificates } = secretsOf(cluster);
    if (certificates === undefined) return undefined;
    const there = this.#get(cluster, certificates);
    // Its creator, for example cert-manager, renews it.
    if (there && !isControlledBy(there, cluster.metadata.uid)) return undefined;
    const step = await certificateStep(there && decodeSecret(there), this.#options.clock().getTime());
    if (!step) return undefined;
    const done = there
      ? await this.#patch(client, there, step.data)
      : await this.#create(client, cluster, secretOf(cluster, certificates, step.data));
    return done ? step.message : undefined;
  }

  /** Performs the next step of a key rotation. `confirmed`: every node runs with the current keys. */
  async rotate(client: Client, cluster: StoredCluster, confirmed: boolean): Promise<RotationState> {
    const wanted = cluster.spec.keyRotation?.generation ?? 0;
    const before = cluster.status?.keyGeneration ?? wanted;
    const secret = this.#get(cluster, secretsOf(cluster).secretKeys);
    const nothing = { generation: before, message: undefined, problem: undefined, changed: false, dueIn: undefined };
    if (!secret) return nothing;
    const rotation = rotationOf(secret.metadata.annotations?.[annotation.keyRotation], before);
    if (!isControlledBy(secret, cluster.metadata.uid))
      return { ...nothing, problem: wanted > rotation.generation ? notOurs(secret) : undefined };
    const lifetime = this.#options.tokenLifetimeMs ?? tokenLifetime;
    const now = this.#options.clock().getTime();
    const data = decodeSecret(secret);
    const step = keyStep({ wanted, data, rotation, confirmed, lifetime, now }, () => newSecret(this.#options.random));
    if (step.do === 'write')
      return { ...nothing, message: step.message, changed: await this.#write(client, secret, step), dueIn: undefined };
    const through = data.next === undefined && confirmed ? rotation.generation : before;
    const dueIn = data.previous !== undefined && data.next === undefined ? Math.max(0, rotation.since + lifetime - now) : undefined;
    return { ...nothing, generation: through, message: step.do === 'wait' ? step.message : undefined, dueIn };
  }

  #write(client: Client, secret: Stored<ObservedSecret>, step: Extract<KeyStep, { do: 'write' }>): Promise<boolean> {
    const data = Object.fromEntries(['current', 'next', 'previous'].map((key) => [key, step.data[key]]));
    return this.#patch(client, secret, data, { [annotation.keyRotation]: rotationText(step.rotation) });
  }

  async #create(client: Client, cluster: StoredCluster, secret: Secret): Promise<boolean> {
    try {
      this.#keep(await client.create<ObservedSecret>(resources.secrets, secret as ObservedSecret));
      return true;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      // The cache may be stale, so the API server is asked. The creator of an existing Secret does not matter.
      const there = await client.find<ObservedSecret>(resources.secrets, secret.metadata);
      if (there && !isOrphanOf(there, cluster)) this.#keep(there);
      return false;
    }
  }

  /** Removes keys whose value is undefined. @returns false if the Secret was changed concurrently or deleted */
  async #patch(
    client: Client,
    secret: Stored<ObservedSecret>,
    values: Record<string, string | undefined>,
    annotations: Record<string, string> = {},
  ): Promise<boolean> {
    const { name, namespace, uid, resourceVersion } = secret.metadata;
    const data = Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, value === undefined ? null : Buffer.from(value).toString('base64')]),
    );
    try {
      const patch = { metadata: { uid, resourceVersion, annotations }, data };
      const written = await client.patch<ObservedSecret>(resources.secrets, { namespace, name }, patch);
      if (written) this.#keep(written);
      return written !== undefined;
    } catch (error) {
      // The next reconcile sees the other change.
      if (isConflict(error)) return false;
      throw error;
    }
  }

  #get(cluster: StoredCluster, name: string): Stored<ObservedSecret> | undefined {
    const key = `${namespaceOf(cluster)}/${name}`;
    const fresh = this.#fresh.get(key);
    const copy = this.#options.store.get(key);
    const stored = copy && isOrphanOf(copy, cluster) ? undefined : copy;
    if (!fresh) return stored;
    const caughtUp =
      stored?.metadata.uid === fresh.secret.metadata.uid && stored.metadata.resourceVersion === fresh.secret.metadata.resourceVersion;
    if (!caughtUp && this.#options.now() - fresh.at < cacheLagMs) return fresh.secret;
    this.#fresh.delete(key);
    return stored;
  }

  #keep(secret: Stored<ObservedSecret>): void {
    const at = this.#options.now();
    for (const [key, known] of this.#fresh) if (at - known.at > cacheLagMs) this.#fresh.delete(key);
    this.#fresh.set(keyOf(secret), { secret, at });
  }
}

function notOurs({ metadata }: Stored): ConditionReason {
  const message = `Secret "${metadata.name}" with the token keys was not created by the operator; its keys are not rotated`;
  return { reason: 'KeysNotOurs', message };
}
