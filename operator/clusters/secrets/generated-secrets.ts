// Secrets that the operator generates once if they do not exist: API tokens, token key and cookie.
import type { ClusterContext, SecretData } from '../cluster-context.ts';
import type { Secret } from '../manifests.ts';
import { ownedMeta, type StoredCluster } from '../owned.ts';
import { secretsOf } from './secret-values.ts';

/** Source of random bytes, e.g. node:crypto. */
export type RandomBytes = (size: number) => Buffer;

const tokenBytes = 32;
const keyBytes = 48;

/** Secrets to *create*. An existing Secret is never overwritten, because it belongs to the user. */
export function missingSecrets(cluster: StoredCluster, facts: Pick<ClusterContext, 'secrets'>, random: RandomBytes): Secret[] {
  const names = secretsOf(cluster);
  const content: Record<string, () => Record<string, string>> = {};
  // Several references may name the same Secret; it then contains the keys of all of them.
  const add = (name: string, data: () => Record<string, string>) => {
    const before = content[name];
    content[name] = before === undefined ? data : () => ({ ...before(), ...data() });
  };
  add(names.apiTokens, () => ({ operator: newSecret(random, tokenBytes), admin: newSecret(random, tokenBytes) }));
  add(names.secretKeys, () => ({ current: newSecret(random, keyBytes) }));
  add(names.cookie, () => ({ cookie: newSecret(random, tokenBytes) }));
  return Object.entries(content)
    .filter(([name]) => !facts.secrets.has(name))
    .map(([name, data]) => secretOf(cluster, name, data()));
}

/** Random text that is valid as a token, a key and a cookie. */
export function newSecret(random: RandomBytes, size = keyBytes): string {
  return random(size).toString('base64url');
}

export function secretOf(cluster: StoredCluster, name: string, values: SecretData): Secret {
  const data = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]));
  return { apiVersion: 'v1', kind: 'Secret', metadata: ownedMeta(cluster, name), type: 'Opaque', data };
}
