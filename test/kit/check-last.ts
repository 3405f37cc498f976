// Checks at the end of a test, or of a whole file of tests, behind everything that ends what it started.
import { AsyncResource } from 'node:async_hooks';
import type { Scope } from './kube/scope.ts';

/** A hook of node:test that fails keeps those behind it from running, so the check is added only when they run. */
export function checkLast(scope: Scope, check: () => void): void {
  // The hook of a file belongs to whoever calls it: called by a hook without this, the check would be a part of that one.
  const add = AsyncResource.bind(() => scope.after(async () => check()));
  scope.after(async () => add());
}
