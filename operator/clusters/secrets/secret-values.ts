// Values read from Secrets, validated with the rules of the nodes, so that the status reports an error and no node has to reject it.
import type { z } from 'zod';
import { type AccessKey, accessPublicKey, accessSecret, isPublicKey, maxAccessKeyId } from '../../../api/settings/access-keys.ts';
import {
  bearerToken,
  cookie,
  iceText,
  maxTokenName,
  maxTokens,
  maxWebhookSecrets,
  minTokenLength,
  secretText,
  webhookSecret,
} from '../../../api/settings/values.ts';
import type { ConditionReason } from '../../kube/conditions.ts';
import type { ClusterContext, SecretData } from '../cluster-context.ts';
import { cookieKey, namesOf } from '../names.ts';
import type { StoredCluster } from '../owned.ts';

/** Names of the Secrets of a cluster: those of its spec, otherwise the generated ones. */
export function secretsOf(cluster: StoredCluster) {
  const { secrets = {}, config = {} } = cluster.spec;
  const made = namesOf(cluster.metadata.name);
  return {
    apiTokens: secrets.apiTokens?.name ?? made.apiTokens,
    secretKeys: secrets.secretKeys?.name ?? made.secretKeys,
    cookie: secrets.cookie?.name ?? made.cookie,
    accessKeys: secrets.accessKeys?.name,
    s3: secrets.s3?.name,
    webhooks: secrets.webhooks?.name,
    certificates: hasCertificates(cluster) ? made.certificates : undefined,
    iceServers: (config.iceServers ?? []).flatMap(({ credential }) => credential?.secretRef.name ?? []),
  };
}

/** Whether nodes use TLS with a CA that the operator creates. */
export function hasCertificates({ spec }: StoredCluster): boolean {
  return spec.distributionTls === 'optional' || spec.distributionTls === 'required';
}

/** Every Secret whose content the cluster uses. */
export function secretNames(cluster: StoredCluster): string[] {
  const { iceServers, ...others } = secretsOf(cluster);
  return [...new Set([...Object.values(others).filter((name) => name !== undefined), ...iceServers])];
}

/** Data of a stored Secret as text. Invalid UTF-8 becomes U+FFFD, which the validation of the value rejects. */
export function decodeSecret(secret: { data?: Readonly<Record<string, string>> }): SecretData {
  return Object.fromEntries(Object.entries(secret.data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]));
}

/** Data of a Secret in base64. */
export function encodeSecret(values: SecretData): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]));
}

export type Token = { name: string; token: string; scope: 'admin' | 'read' };

/** API token of the operator for the nodes: the key `operator`, otherwise the first token with full access. */
export function operatorToken(cluster: StoredCluster, secrets: ClusterContext['secrets']): string | undefined {
  const tokens = tokensIn(secrets.get(secretsOf(cluster).apiTokens) ?? {}).filter(({ scope }) => scope === 'admin');
  return (tokens.find(({ name }) => name === 'operator') ?? tokens[0])?.token;
}

type Rule = { test: (text: string) => boolean; expected: string };
/** The rule of the node for a value, which must not be empty. U+FFFD stands for bytes that are not UTF-8. */
function ruleOf(schema: z.ZodType<string>): Rule {
  const expected = schema.safeParse(null).error?.issues[0]?.message.replace(/^to be /, '') ?? 'valid';
  return { test: (text) => text !== '' && !text.includes('\ufffd') && schema.safeParse(text).success, expected };
}
const rules = {
  token: ruleOf(bearerToken),
  secret: ruleOf(secretText),
  cookie: ruleOf(cookie),
  accessSecret: ruleOf(accessSecret),
  publicKey: ruleOf(accessPublicKey),
  webhook: ruleOf(webhookSecret),
  credential: ruleOf(iceText),
} as const satisfies Record<string, Rule>;

/** Keys that a field needs in its Secret, if it is not one key. */
const neededKeys: Readonly<Record<string, string>> = {
  'secrets.apiTokens': 'a key for each API token',
  'secrets.accessKeys': 'a key for each access key',
  'secrets.s3': 'the keys "accessKeyId" and "secretAccessKey"',
  'secrets.webhooks': 'a key for each signing key',
};

/** Reads values of Secrets and collects problems; a message never contains a value. */
export class SecretValues {
  readonly #secrets: ClusterContext['secrets'];
  readonly problems: ConditionReason[] = [];

  constructor(secrets: ClusterContext['secrets']) {
    this.#secrets = secrets;
  }

  apiTokens(secret: string): Token[] {
    const tokens = tokensIn(this.#data(secret, 'secrets.apiTokens'));
    for (const { name, token } of tokens) if (this.#check(secret, name, token, rules.token)) this.#checkLength(secret, name, token);
    if (!this.#secrets.has(secret)) return tokens;
    if (!tokens.some(({ scope }) => scope === 'admin'))
      this.#problem('SecretKeyMissing', `Secret "${secret}" of the API tokens needs a key for the operator that does not end with ".read"`);
    if (tokens.length > maxTokens || tokens.some(({ name }) => name.length > maxTokenName))
      this.#problem(
        'SecretInvalid',
        `Secret "${secret}" must have at most ${maxTokens} API tokens with keys of at most ${maxTokenName} characters`,
      );
    return tokens;
  }

  /** The first key signs, all verify. All nodes load `next` before it becomes `current`, which stays valid as `previous`. */
  secretKeys(secret: string): string[] {
    const data = this.#secrets.get(secret) ?? {};
    const keys = ['current', 'next', 'previous'].filter((key) => key === 'current' || data[key] !== undefined);
    return [...new Set(keys.flatMap((key) => this.#value(secret, key, 'secrets.secretKeys', rules.secret) ?? []))];
  }

  cookie(secret: string): string | undefined {
    return this.#value(secret, cookieKey, 'secrets.cookie', rules.cookie);
  }

  accessKeys(secret: string): AccessKey[] {
    const data = this.#data(secret, 'secrets.accessKeys');
    const ids = Object.keys(data).sort();
    if (this.#secrets.has(secret) && (ids.length === 0 || ids.length > maxTokens || ids.some((id) => id.length > maxAccessKeyId)))
      this.#problem(
        'SecretInvalid',
        `Secret "${secret}" must have 1 to ${maxTokens} access keys with ids of at most ${maxAccessKeyId} characters`,
      );
    return ids.flatMap((id) => {
      const isPublic = isPublicKey(data[id] ?? '');
      const value = this.#value(secret, id, 'secrets.accessKeys', isPublic ? rules.publicKey : rules.accessSecret);
      if (value === undefined) return [];
      return { id, ...(isPublic ? { publicKey: value } : { secret: value }), ...(id.endsWith('.join') && { roomCreate: false }) };
    });
  }

  s3Keys(secret: string): { accessKeyId: string | undefined; secretAccessKey: string | undefined } {
    const read = (key: string) => this.#value(secret, key, 'secrets.s3', rules.secret);
    return { accessKeyId: read('accessKeyId'), secretAccessKey: read('secretAccessKey') };
  }

  webhookKeys(secret: string): string[] {
    const keys = Object.keys(this.#data(secret, 'secrets.webhooks')).sort();
    if (this.#secrets.has(secret) && (keys.length === 0 || keys.length > maxWebhookSecrets))
      this.#problem('SecretInvalid', `Secret "${secret}" must have 1 to ${maxWebhookSecrets} webhook signing keys`);
    return keys.flatMap((key) => this.#value(secret, key, 'secrets.webhooks', rules.webhook) ?? []);
  }

  credential({ name, key }: { name: string; key: string }): string | undefined {
    return this.#value(name, key, 'config.iceServers', rules.credential);
  }

  add(reason: string, message: string): void {
    this.#problem(reason, message);
  }

  #value(secret: string, key: string, field: string, rule: Rule): string | undefined {
    const raw = this.#data(secret, field, key)[key];
    if (raw === undefined) {
      if (this.#secrets.has(secret)) this.#problem('SecretKeyMissing', `Secret "${secret}" has no key "${key}", which ${field} needs`);
      return undefined;
    }
    // Secrets created from files often end with an accidental line break.
    const value = raw.trim();
    return this.#check(secret, key, value, rule) ? value : undefined;
  }

  #check(secret: string, key: string, value: string, { test, expected }: Rule): boolean {
    if (test(value)) return true;
    this.#problem('SecretInvalid', `the value of "${key}" in Secret "${secret}" must be ${expected}`);
    return false;
  }

  /** The rule of a token allows short ones, because a node only warns of them. */
  #checkLength(secret: string, key: string, token: string): void {
    if (token.length >= minTokenLength) return;
    this.#problem('SecretInvalid', `the API token "${key}" in Secret "${secret}" must have at least ${minTokenLength} characters`);
  }

  #data(secret: string, field: string, key?: string): SecretData {
    const data = this.#secrets.get(secret);
    const keys = neededKeys[field] ?? `the key "${key}"`;
    if (data === undefined) this.#problem('SecretMissing', `Secret "${secret}", in which ${field} needs ${keys}, does not exist`);
    return data ?? {};
  }

  #problem(reason: string, message: string): void {
    if (!this.problems.some((known) => known.message === message)) this.problems.push({ reason, message });
  }
}

/** Missing references of the spec, such as S3 without keys, which need no Secret to be detected. */
export function referenceProblems(cluster: StoredCluster): ConditionReason[] {
  const { config = {}, secrets = {} } = cluster.spec;
  const own = secretsOf(cluster);
  const problems: ConditionReason[] = [];
  if (config.s3 !== undefined && secrets.s3 === undefined)
    problems.push({
      reason: 'SecretNotNamed',
      message: 'config.s3 needs secrets.s3, the name of a Secret with accessKeyId and secretAccessKey',
    });
  // Any other key of these Secrets would be used as a token or signing key too.
  for (const field of ['apiTokens', 'accessKeys', 'webhooks'] as const) {
    const name = own[field];
    const others = Object.entries(own).filter(([other]) => other !== field);
    if (name !== undefined && others.some(([, other]) => other === name || (Array.isArray(other) && other.includes(name))))
      problems.push({ reason: 'SecretShared', message: `secrets.${field} must name a separate Secret, because all of its keys are used` });
  }
  for (const { urls, username, credential } of config.iceServers ?? []) {
    if (urls.some((url) => url.startsWith('turn')) && (username === undefined || credential === undefined))
      problems.push({ reason: 'CredentialNotNamed', message: `ICE server ${urls[0]} needs a username and a credential` });
  }
  return problems;
}

function tokensIn(data: SecretData): Token[] {
  return Object.keys(data)
    .sort()
    .map((name) => ({ name, token: (data[name] ?? '').trim(), scope: name.endsWith('.read') ? 'read' : 'admin' }));
}
