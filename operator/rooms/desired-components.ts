// Desired components of a Room: declared options merged with the values of their Secrets.
import { createHash, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { type ComponentType, definitionOf } from '../../api/component/types.ts';
import { flatRoomOptions, type RoomOption, roomOptions } from '../../api/derive/room-options.ts';
import { type ComponentOptions, currentForm, memberOf } from '../../crds/component.ts';
import { roomSecretLabel } from '../../crds/schema.ts';
import type { MediaClusterSpec, RoomSpec } from '../../crds/types.ts';
import { stableJson } from '../json.ts';
import type { ConditionReason } from '../kube/conditions.ts';
import type { KubeObject, Stored } from '../kube/objects.ts';
import type { ComponentRequest } from '../nodes/schemas.ts';
import { externalIdOf } from './desired.ts';

export type Secret = KubeObject & { data?: Record<string, string>; type?: string };

/** `problem`: why it cannot be requested yet, as a message. */
export type DesiredComponent = { name: string; type: string } & (
  | { revision: string; request: ComponentRequest }
  | { problem: ConditionReason }
);

type Read = { values: Record<string, string>; salt: string };

const derive = promisify<string, string, number, { N: number }, Buffer>(scrypt);
/** Cost of each guess at a Secret whose digest is visible in ids; a few ms. */
const digestCost = 4096;
const maxDigests = 10_000;

/** Digests of Secret values: slow to guess, and cached because they are slow to compute. */
export class SecretDigests {
  readonly #known = new Map<string, Promise<string>>();

  of({ values, salt }: Read): Promise<string> {
    const text = JSON.stringify(Object.entries(values).sort());
    const key = createHash('sha256').update(`${salt}\n${text}`).digest('base64');
    const known = this.#known.get(key);
    if (known) return known;
    const made = derive(text, salt, 12, { N: digestCost }).then((bytes) => bytes.toString('base64url'));
    this.#known.set(key, made);
    if (this.#known.size > maxDigests) this.#known.delete(this.#known.keys().next().value ?? '');
    return made;
  }
}

/** Names of the Secrets in the spec, which may be older than the schema. */
export function secretNamesOf(spec: RoomSpec | undefined): string[] {
  if (!Array.isArray(spec?.components)) return [];
  return spec.components.flatMap((component) => {
    const member = memberOf(currentForm(component));
    return member ? secretRefs(member.type, member.options).map(({ name }) => name) : [];
  });
}

/** What components need of Secrets. `secretOf` returns the Secret of that name in the namespace of the Room. */
export type SecretAccess = {
  secretOf: (name: string) => Stored<Secret> | undefined;
  /** Which of them a Room may use; labeled if undefined. */
  usable: MediaClusterSpec['roomSecrets'];
  digests: SecretDigests;
};

export function desiredComponents(spec: RoomSpec, uid: string, access: SecretAccess): Promise<DesiredComponent[]> {
  const components = (spec.components ?? []).flatMap((component) => {
    const member = memberOf(component);
    return member ? [{ name: component.name, ...member }] : [];
  });
  return Promise.all(components.map((component) => desiredComponentOf(component, uid, access)));
}

async function desiredComponentOf(
  { name, type, options }: { name: string; type: ComponentType; options: ComponentOptions },
  uid: string,
  access: SecretAccess,
): Promise<DesiredComponent> {
  const values = new Map<string, Record<string, string>>();
  const secrets: string[] = [];
  for (const { as, name: secretName, keys } of secretRefs(type, options)) {
    const read = readSecret(access, secretName, keys);
    if ('reason' in read) return { name, type, problem: read };
    values.set(as, read.values);
    secrets.push(await access.digests.of(read));
  }
  const revision = revisionOf(type, options, secrets);
  // The API server stores only JSON.
  const given = nodeOptions(roomOptions(definitionOf(type).options), options, values) as ComponentRequest['options'];
  return { name, type, revision, request: { type, options: given, externalId: externalIdOf(uid, name, revision) } };
}

type SecretRef = { as: string; name: string; keys: readonly string[] };

/** Secrets that the options refer to. The options may be older than the schema. */
function secretRefs(type: ComponentType, options: ComponentOptions): SecretRef[] {
  return flatRoomOptions(definitionOf(type).options).flatMap(({ as, facts }) => {
    const { name, key, secretRef } = (options[as] ?? {}) as { name?: string; key?: string; secretRef?: { name?: string } };
    if (facts.key && name !== undefined && key !== undefined) return [{ as, name, keys: [key] }];
    if (facts.keys && secretRef?.name !== undefined) return [{ as, name: secretRef.name, keys: facts.keys }];
    return [];
  });
}

/** Options as REST names them. @param values of the Secret of a field, by its name in the Room */
function nodeOptions(
  fields: readonly RoomOption[],
  given: ComponentOptions,
  values: ReadonlyMap<string, Record<string, string>>,
): ComponentOptions {
  const entries = fields.map(({ name, as, facts, inside }) => {
    if (inside) return [name, nodeOptions(inside, given, values)];
    const secret = values.get(as);
    if (facts.key) return [name, Object.values(secret ?? {})[0]];
    if (!facts.keys || !secret) return [name, given[as]];
    const { secretRef: _, ...open } = given[as] as ComponentOptions;
    return [name, { ...open, ...secret }];
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function readSecret({ secretOf, usable }: SecretAccess, name: string, keys: readonly string[]): Read | ConditionReason {
  const secret = secretOf(name);
  if (!secret) return { reason: 'SecretMissing', message: `Secret ${name} does not exist.` };
  if (usable !== 'any' && secret.metadata.labels?.[roomSecretLabel] !== 'true')
    return { reason: 'SecretNotLabeled', message: `Secret ${name} needs the label ${roomSecretLabel}: "true", so that Rooms may use it.` };
  const values: Record<string, string> = {};
  for (const key of keys) {
    const value = secret.data?.[key];
    if (value === undefined || value === '') return { reason: 'SecretKeyMissing', message: `Secret ${name} has no key ${key}.` };
    values[key] = Buffer.from(value, 'base64').toString('utf8');
  }
  return { values, salt: secret.metadata.uid };
}

function revisionOf(type: string, options: ComponentOptions, secrets: readonly string[]): string {
  const text = stableJson([type, options, secrets]);
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}
