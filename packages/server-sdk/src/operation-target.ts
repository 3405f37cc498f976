// Target of an operation: its path with the given parameters, and its query.
import { type OperationId, type Operations, operations } from './generated/operations.ts';
import { requestPath } from './generated/request-path.ts';

type BodyOf<Id extends OperationId> = Operations[Id] extends { body: infer Body } ? Body : undefined;
type QueryOf<Id extends OperationId> = Operations[Id] extends { query: infer Query extends object } ? Query : undefined;

/** Input of an operation: `path` fills the placeholders of its path. */
export type Input<Id extends OperationId> = { path?: Record<string, string>; query?: QueryOf<Id>; body?: BodyOf<Id> };

/** @throws TypeError if a parameter of the path is missing or would change the path */
export function targetOf<Id extends OperationId>(id: Id, { path = {}, query }: Input<Id>): string {
  return requestPath(operations[id].path, path, query);
}
