// Paths of kinds and objects in the API.
import type { Resource } from '../objects.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** `/api/v1`, or `/apis/<group>/<version>`. */
export function rootOf(resource: Resource): string {
  return resource.apiVersion.includes('/') ? `/apis/${resource.apiVersion}` : `/api/${resource.apiVersion}`;
}

/** API group of the kind; empty for the core group. */
export function groupOf(resource: Resource): string {
  const [group = '', version] = resource.apiVersion.split('/');
  return version === undefined ? '' : group;
}

/** Path of all objects of the kind, or of one namespace. */
export function collectionPath(resource: Resource, namespace: string | undefined): string {
  const inside = resource.namespaced && namespace !== undefined ? `/namespaces/${segment(namespace)}` : '';
  return `${rootOf(resource)}${inside}/${resource.plural}`;
}

/** @throws TypeError if a namespaced kind has no namespace */
export function objectPath(resource: Resource, ref: { namespace?: string | undefined; name: string }, subresource?: string): string {
  if (resource.namespaced && ref.namespace === undefined) throw new TypeError(`${resource.kind} ${ref.name} needs a namespace`);
  const below = subresource === undefined ? '' : `/${subresource}`;
  return `${collectionPath(resource, ref.namespace)}/${segment(ref.name)}${below}`;
}

/** `?a=1&b=x`, without undefined values. */
export function queryText(query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)] as [string, string]]));
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

/** One path segment: never empty, never a parent folder. */
function segment(name: string): string {
  if (name === '' || name === '.' || name === '..') throw new TypeError(`'${name}' is not a valid object name`);
  return encodeURIComponent(name);
}
