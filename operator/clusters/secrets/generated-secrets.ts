// Secrets that the operator generates once if the spec names no Secret for them: API tokens, token key and cookie.
import type { ClusterContext, SecretData } from '../cluster-context.ts';
import type { Secret } from '../manifests.ts';
import { cookieKey, namesOf } from '../names.ts';
import { ownedMeta, type StoredCluster } from '../owned.ts';
import { encodeSecret } from './secret-values.ts';

/** Source of random bytes, e.g. node:crypto. */
export type RandomBytes = (size: number) => Buffer;

const tokenBytes = 32;
const keyBytes = 48;

const content = {
  apiTokens: (random) => ({ operator: newSecret(random, tokenBytes), admin: newSecret(random, tokenBytes) }),
  secretKeys: (random) => ({ current: newSecret(random, keyBytes) }),
  cookie: (random) => ({ [cookieKey]: newSecret(random, tokenBytes) }),
} as const satisfies Record<string, (random: RandomBytes) => SecretData>;

/**
 * Secrets to *create*. An existing Secret is never overwritten, because it belongs to the user. A Secret that the spec names is never
 * generated: its user creates or restores it, and random values in its place would disconnect clients and nodes.
 */
export function missingSecrets(cluster: StoredCluster, facts: Pick<ClusterContext, 'secrets'>, random: RandomBytes): Secret[] {
  const { secrets = {}, ...names } = { ...namesOf(cluster.metadata.name), secrets: cluster.spec.secrets };
  const generated = (['apiTokens', 'secretKeys', 'cookie'] as const).filter((field) => secrets[field] === undefined);
  return generated
    .filter((field) => !facts.secrets.has(names[field]))
    .map((field) => secretOf(cluster, names[field], content[field](random)));
}

/** Random text that is valid as a token, a key and a cookie. */
export function newSecret(random: RandomBytes, size = keyBytes): string {
  return random(size).toString('base64url');
}

export function secretOf(cluster: StoredCluster, name: string, values: SecretData): Secret {
  return { apiVersion: 'v1', kind: 'Secret', metadata: ownedMeta(cluster, name), type: 'Opaque', data: encodeSecret(values) };
}
