// Pixel budget of a composer: the largest source yields.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PixelBudget } from '../../../../../node/components/hls/composer/pixel-budget.ts';

test('the largest track of the largest source is refused, not the last one', () => {
  const budget = new PixelBudget<string>(100);
  assert.deepEqual(budget.claim('a1', 'a', 40), []);
  assert.deepEqual(budget.claim('a2', 'a', 50), []);
  assert.deepEqual(budget.claim('b', 'b', 20), ['a2']);
  assert.deepEqual(budget.claim('a2', 'a', 50), ['a2']);
  budget.release('b');
  assert.deepEqual(budget.claim('a2', 'a', 50), []);
  assert.deepEqual(budget.claim('a1', 'a', 45), []);
  assert.deepEqual(budget.claim('c', 'c', 200), ['c']);
});
