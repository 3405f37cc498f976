// Target of an operation: its path with the given parameters, and its query.
import { type OperationId, type Operations, operations } from './generated/operations.ts';

type BodyOf<Id extends OperationId> = Operations[Id] extends { body: infer Body } ? Body : undefined;
type QueryOf<Id extends OperationId> = Operations[Id] extends { query: infer Query extends object } ? Query : undefined;

/** Input of an operation: `path` fills the placeholders of its path. */
export type Input<Id extends OperationId> = { path?: Record<string, string>; query?: QueryOf<Id>; body?: BodyOf<Id> };

/** @throws TypeError if a parameter of the path is missing or would change the path */
export function targetOf<Id extends OperationId>(id: Id, { path = {}, query }: Input<Id>): string {
  return pathOf(operations[id].path, path) + queryOf(query);
}

function pathOf(template: string, values: Record<string, string>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined || value === '' || value === '.' || value === '..') throw new TypeError(`Expected ${name} to be non-empty`);
    return encodeURIComponent(value);
  });
}

function queryOf(query: object | undefined): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(Object.fromEntries(given.map(([name, value]) => [name, String(value)])))}`;
}
