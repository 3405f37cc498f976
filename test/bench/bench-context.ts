// Benchmark context: stands in for a TestContext, so that a benchmark can use the kit and run its cleanup hooks.
import type { TestContext } from 'node:test';

export function benchContext(): { t: TestContext; end: () => Promise<void> } {
  const endings: (() => unknown)[] = [];
  const t = { after: (ending: () => unknown) => endings.unshift(ending), diagnostic: () => {}, passed: true } as unknown as TestContext;
  return {
    t,
    end: async () => {
      // A copy, because some hooks add another one.
      for (const ending of endings.splice(0)) await ending();
    },
  };
}
