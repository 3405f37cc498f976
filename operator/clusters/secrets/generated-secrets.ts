// The Secrets that the operator makes once where they do not exist: API tokens, the key of tokens, the cookie.
import type { ClusterContext, SecretData } from '../cluster-context.ts';
import type { Secret } from '../manifests.ts';
import { ownedMeta, type StoredCluster } from '../owned.ts';
import { secretsOf } from './secret-values.ts';

/** Random bytes, e.g. of node:crypto. */
export type RandomBytes = (size: number) => Buffer;

const tokenBytes = 32;
const keyBytes = 48;

/** Secrets that are still to be *created*; never applied over one that exists, which is the user's from then on. */
export function missingSecrets(cluster: StoredCluster, facts: Pick<ClusterContext, 'secrets'>, random: RandomBytes): Secret[] {
  const names = secretsOf(cluster);
  const content: Record<string, () => Record<string, string>> = {};
  // Several references may name one Secret: then it holds what all of them need.
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

/** Text of that many random bytes that is good as a token, a key and a cookie. */
export function newSecret(random: RandomBytes, size = keyBytes): string {
  return random(size).toString('base64url');
}

export function secretOf(cluster: StoredCluster, name: string, values: SecretData): Secret {
  const data = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]));
  return { apiVersion: 'v1', kind: 'Secret', metadata: ownedMeta(cluster, name), type: 'Opaque', data };
}
