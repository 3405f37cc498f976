// Dispatcher of a node in a test, and operations as functions.
import type { InputOf, Operation, ResultOf } from '../../../api/core/operation.ts';
import { operations } from '../../../api/operations/table.ts';
import { Dispatcher, type DispatcherOptions } from '../../../node/cluster/rpc/dispatcher.ts';
import { OperationRouter } from '../../../node/cluster/rpc/operation-router.ts';
import type { OperationRunner } from '../../../node/rooms/services/operations.ts';
import { silentLog } from '../silent-log.ts';
import { FakeNetwork } from './fake-links.ts';

/** By default the dispatcher of a single node. All other nodes are of this version. */
export function makeDispatcher(options: Partial<DispatcherOptions> = {}): Dispatcher {
  const links = options.links ?? new FakeNetwork().join('svc@test');
  return new Dispatcher({ links, log: silentLog(), members: { get: () => ({ rpc: 2 }) }, ...options });
}

/** By default of a node that owns every room. */
export function makeRouter(dispatcher: Dispatcher, owner?: string): OperationRouter {
  return new OperationRouter(dispatcher, { locate: async () => owner });
}

type Operations = typeof operations;
type Part<O, Name extends 'params' | 'body' | 'query'> = InputOf<O> extends { [N in Name]: infer Value } ? Value : never;
export type OperationCalls = {
  [Id in keyof Operations]: (
    params: Part<Operations[Id], 'params'>,
    body?: Part<Operations[Id], 'body'>,
    query?: Part<Operations[Id], 'query'>,
  ) => Promise<ResultOf<Operations[Id]>>;
};

export function callsOf(runner: OperationRunner): OperationCalls {
  const entries = Object.values(operations as Record<string, Operation>).map((operation) => [
    operation.id,
    (params: Record<string, string>, body?: unknown, query?: unknown) => runner.run(operation, { params, body, query }),
  ]);
  return Object.fromEntries(entries) as OperationCalls;
}
