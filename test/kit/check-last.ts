// Checks at the end of a test, behind everything that ends what it started.
import type { TestContext } from 'node:test';

/** A hook of node:test that fails keeps those behind it from running, so the check is added only when they run. */
export function checkLast(t: Pick<TestContext, 'after'>, check: () => void): void {
  t.after(() => t.after(check));
}
