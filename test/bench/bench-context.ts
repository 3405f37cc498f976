// What the kits of tests end with a test, a benchmark ends itself.
import type { TestContext } from 'node:test';

export function benchContext(): { t: TestContext; end: () => Promise<void> } {
  const endings: (() => unknown)[] = [];
  const t = { after: (ending: () => unknown) => endings.unshift(ending), diagnostic: () => {}, passed: true } as unknown as TestContext;
  return {
    t,
    end: async () => {
      for (const ending of endings.splice(0)) await ending();
    },
  };
}
