// The Secrets of a cluster: read from the copies, made once where the operator makes them, keys rotated, certificates renewed.
import type { KubeClient } from '../../kube/client.ts';
import { isAlreadyExists, isConflict } from '../../kube/http/kube-error.ts';
import { isControlledBy, isOrphanOf, keyOf, resources, type Stored } from '../../kube/objects.ts';
import type { ConditionProblem, SecretData } from '../cluster-context.ts';
import type { Secret } from '../manifests.ts';
import { annotation } from '../names.ts';
import type { ObservedSecret, Store } from '../observed-objects.ts';
import { namespaceOf, type StoredCluster } from '../owned.ts';
import { certificateStep } from './certificates.ts';
import { missingSecrets, newSecret, type RandomBytes, secretOf } from './generated-secrets.ts';
import { type KeyStep, keyStep, rotationOf, rotationText } from './keys.ts';
import { decodeSecret, secretNames, secretsOf } from './secret-values.ts';

type Client = Pick<KubeClient, 'create' | 'find' | 'patch'>;

/** Peer tokens live for 24 hours (node: the REST API's peers), and clocks differ a little. */
export const tokenLifetime = 25 * 3_600_000;
/** How long our own answer counts for more than the copies, in milliseconds. */
const cacheLagMs = 5_000;

export type ClusterSecretsOptions = {
  store: Store<ObservedSecret>;
  random: RandomBytes;
  /** Monotonic milliseconds. */
  now: () => number;
  clock: () => Date;
  tokenLifetimeMs?: number;
};

export type RotationState = {
  /** The rotation that is through. */
  generation: number;
  message: string | undefined;
  problem: ConditionProblem | undefined;
  /** Whether keys were written just now, so that files are to be made again. */
  changed: boolean;
  /** Milliseconds until something is to be done though nothing changes; undefined where nothing is. */
  dueIn: number | undefined;
};

export class ClusterSecrets {
  readonly #options: ClusterSecretsOptions;
  readonly #fresh = new Map<string, { secret: Stored<ObservedSecret>; at: number }>();

  constructor(options: ClusterSecretsOptions) {
    this.#options = options;
  }

  /** The Secrets that matter to the cluster and exist, by name. */
  read(cluster: StoredCluster): Map<string, SecretData> {
    const found = secretNames(cluster).flatMap((name) => {
      const secret = this.#get(cluster, name);
      return secret ? [[name, decodeSecret(secret)] as const] : [];
    });
    return new Map(found);
  }

  /** Makes those that the operator makes and that do not exist; says which. */
  async make(client: Client, cluster: StoredCluster): Promise<string[]> {
    const made: string[] = [];
    for (const secret of missingSecrets(cluster, { secrets: this.read(cluster) }, this.#options.random))
      if (await this.#create(client, cluster, secret)) made.push(secret.metadata.name);
    return made;
  }

  /** The certificate of the nodes and its authority, where the operator makes them: now, or anew in time. @returns what was done, for people */
  async certify(client: Client, cluster: StoredCluster): Promise<string | undefined> {
    const { certificates } = secretsOf(cluster);
    if (certificates === undefined) return undefined;
    const there = this.#get(cluster, certificates);
    // Whoever made it, e.g. cert-manager, renews it.
    if (there && !isControlledBy(there, cluster.metadata.uid)) return undefined;
    const step = await certificateStep(there && decodeSecret(there), this.#options.clock().getTime());
    if (!step) return undefined;
    const done = there
      ? await this.#patch(client, there, step.data)
      : await this.#create(client, cluster, secretOf(cluster, certificates, step.data));
    return done ? step.message : undefined;
  }

  /** The next step of a rotation of keys. `confirmed`: every node has the keys in force as they are now. */
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
      // The copies are behind: what is there counts, whoever made it.
      const there = await client.find<ObservedSecret>(resources.secrets, secret.metadata);
      if (there && !isOrphanOf(there, cluster)) this.#keep(there);
      return false;
    }
  }

  /** Values that are undefined go. @returns false where somebody else wrote it meanwhile, or it is gone */
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
      // What they wrote is looked at next.
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

function notOurs({ metadata }: Stored): ConditionProblem {
  const message = `the Secret "${metadata.name}" of the keys was not made by the operator, which therefore does not rotate it`;
  return { reason: 'KeysNotOurs', message };
}
