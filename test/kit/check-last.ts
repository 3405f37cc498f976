// Final checks of a test or test file: run after all cleanup hooks.
import { AsyncResource } from 'node:async_hooks';
import type { Scope } from './kube/scope.ts';

/** A failed hook of node:test skips the hooks after it, so the check is added only when the hooks run. */
export function checkLast(scope: Scope, check: () => void): void {
  // A hook of a file belongs to its async context: added by another hook without this, the check would be part of that hook.
  const add = AsyncResource.bind(() => scope.after(async () => check()));
  scope.after(async () => add());
}
