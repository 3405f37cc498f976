// Requests by operation: sent by the console, and shown as command lines.
import { type OperationId, operations } from '../../../server-sdk/src/generated/operations.ts';
import { type Input, targetOf } from '../../../server-sdk/src/operation-target.ts';
import type { HttpRequest } from './curl.ts';

export type OperationRequest<Id extends OperationId = OperationId> = HttpRequest & { id: Id };

/** The path has no leading slash: the console may be served under a path. */
export function operationRequest<Id extends OperationId>(id: Id, input: Input<Id> = {}): OperationRequest<Id> {
  const { body } = input;
  return { id, method: operations[id].method, path: targetOf(id, input).slice(1), ...(body !== undefined && { body }) };
}
