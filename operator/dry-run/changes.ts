// Planned changes: collects the effects of dry-run writes per object and prints them like `kubectl diff`.
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import type { Change, DryRunState } from '../kube/dry-run-client.ts';
import type { KubeError } from '../kube/http/kube-error.ts';
import { type KubeObject, keyOf, lastApplied, type Stored } from '../kube/objects.ts';
import { unifiedDiff } from './unified-diff.ts';

/** An object before and after its dry-run writes. The API server responds to each write as if it were the only one. */
type PlannedWrite = { before: Stored | undefined; after: Stored | undefined };
type Json = { readonly [field: string]: unknown };

/** Server-managed metadata. lastApplied contains the whole object again, including the values of a Secret. */
const counted = ['uid', 'resourceVersion', 'generation', 'creationTimestamp', 'managedFields'];

export class PlannedChanges implements DryRunState {
  readonly #objects = new Map<string, PlannedWrite>();
  readonly #actions: { message: string; about: string }[] = [];

  readonly report = ({ resource, before, after }: Change): void => {
    const named = after ?? before;
    if (!named) return;
    const key = `${resource.kind} ${keyOf(named)}`;
    const known = this.#objects.get(key);
    if (!known) this.#objects.set(key, { before, after });
    else known.after = known.after && before && after ? (applyMergePatch(known.after, before, after) as Stored) : after;
  };

  /** Admission rejects a pod whose ServiceAccount exists only in the dry run. */
  readonly excuse = (refusal: KubeError, object: KubeObject): Stored | undefined => {
    const account = /serviceaccount "([^"]+)" not found/.exec(refusal.message)?.[1];
    if (refusal.status !== 403 || object.kind !== 'Pod' || account === undefined) return undefined;
    if (!this.#objects.get(`ServiceAccount ${object.metadata.namespace}/${account}`)?.after) return undefined;
    return { ...object, metadata: { ...object.metadata, uid: `dry-run-${object.metadata.name}`, resourceVersion: '' } };
  };

  /** Adds an action without an object, as a message that begins with `would`. Messages about the same object stay together, in order. */
  readonly act = (message: string, about: string): void => {
    this.#actions.push({ message, about });
  };

  /** The planned changes; empty if there are none. */
  text(): string {
    const diffs = [...this.#objects]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([title, { before, after }]) => (before && !after ? `would delete ${title}\n` : diffOf(title, before, after)));
    const actions = this.#actions.toSorted((one, other) => one.about.localeCompare(other.about)).map(({ message }) => `${message}\n`);
    return [...actions, ...diffs].join('');
  }
}

function diffOf(title: string, before: Stored | undefined, after: Stored | undefined): string {
  const [old, fresh] = shown(before, after);
  const names = { before: before ? title : '/dev/null', after: `${title} (dry run)` };
  return isDeepStrictEqual(old, fresh) ? '' : unifiedDiff(names, textOf(old), textOf(fresh));
}

function textOf(object: unknown): string {
  return object === undefined ? '' : stringify(object, { lineWidth: 0, sortMapEntries: true });
}

/** Drops server-managed metadata; values of a Secret are replaced by whether they change. */
function shown(before: Stored | undefined, after: Stored | undefined): [unknown, unknown] {
  return [clean(before, after, '(before)'), clean(after, before, '(after)')];
}

function clean(object: Stored | undefined, other: Stored | undefined, when: string): unknown {
  if (!object) return undefined;
  const { metadata, data, ...rest } = object as Stored & { data?: Json };
  const { annotations, ...meta } = metadata;
  const kept = Object.entries(annotations ?? {}).filter(([name]) => name !== lastApplied);
  const otherData = (other as { data?: Json } | undefined)?.data ?? {};
  const hidden = (name: string, value: unknown) => (otherData[name] === undefined || otherData[name] === value ? '***' : `*** ${when}`);
  return {
    ...rest,
    ...(data && {
      data: object.kind === 'Secret' ? Object.fromEntries(Object.entries(data).map(([name, value]) => [name, hidden(name, value)])) : data,
    }),
    metadata: {
      ...Object.fromEntries(Object.entries(meta).filter(([field]) => !counted.includes(field))),
      ...(kept.length > 0 && { annotations: Object.fromEntries(kept) }),
    },
  };
}

/** Applies the difference of `before` and `after` to `base`; arrays are replaced as a whole. */
export function applyMergePatch(base: unknown, before: unknown, after: unknown): unknown {
  if (isDeepStrictEqual(before, after)) return base;
  if (!isJson(base) || !isJson(before) || !isJson(after)) return after;
  const fields = new Set([...Object.keys(base), ...Object.keys(after)]);
  return Object.fromEntries(
    [...fields].flatMap((field) => {
      const removed = field in before && !(field in after);
      return removed ? [] : [[field, applyMergePatch(base[field], before[field], after[field])]];
    }),
  );
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
