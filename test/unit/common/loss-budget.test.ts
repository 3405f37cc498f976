// Loss budget: losses within ten minutes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LossBudget } from '../../../node/common/loss-budget.ts';

test('three losses in ten minutes are allowed, a fourth only after a while', () => {
  const budget = new LossBudget(3);
  assert.deepEqual(
    [0, 1000, 2000, 3000].map((now) => budget.take(now)),
    [true, true, true, false],
  );
  assert.deepEqual(
    [600_000, 600_001, 601_000].map((now) => budget.take(now)),
    [true, false, true],
  );
});

test('with two allowed losses, a loss does not count any more when it is ten minutes old', () => {
  const budget = new LossBudget(2);
  assert.deepEqual(
    [0, 5, 10, 14].map((minutes) => budget.take(minutes * 60_000)),
    [true, true, true, false],
  );
});
