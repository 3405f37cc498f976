// Addresses of the API: which path a kind and an object have.
import type { Resource } from '../objects.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** `/api/v1`, or `/apis/<group>/<version>`. */
export function rootOf(resource: Resource): string {
  return resource.apiVersion.includes('/') ? `/apis/${resource.apiVersion}` : `/api/${resource.apiVersion}`;
}

/** The group of the kind; empty for the core. */
export function groupOf(resource: Resource): string {
  const [group = '', version] = resource.apiVersion.split('/');
  return version === undefined ? '' : group;
}

/** All objects of the kind, of one namespace where one is given. */
export function collectionPath(resource: Resource, namespace: string | undefined): string {
  const inside = resource.namespaced && namespace !== undefined ? `/namespaces/${segment(namespace)}` : '';
  return `${rootOf(resource)}${inside}/${resource.plural}`;
}

/** @throws TypeError where the object has no address: a kind of namespaces without one */
export function objectPath(resource: Resource, ref: { namespace?: string | undefined; name: string }, subresource?: string): string {
  if (resource.namespaced && ref.namespace === undefined) throw new TypeError(`${resource.kind} ${ref.name} needs a namespace`);
  const below = subresource === undefined ? '' : `/${subresource}`;
  return `${collectionPath(resource, ref.namespace)}/${segment(ref.name)}${below}`;
}

/** `?a=1&b=x`, without what is undefined. */
export function queryText(query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)] as [string, string]]));
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

/** One segment of a path: never empty, never a way up. */
function segment(name: string): string {
  if (name === '' || name === '.' || name === '..') throw new TypeError(`'${name}' is no name of an object`);
  return encodeURIComponent(name);
}
