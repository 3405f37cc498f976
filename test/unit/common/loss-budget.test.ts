// Leg losses: when a room continues after a media worker died.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LegLosses } from '../../../node/media/legs/leg-losses.ts';

test('the third loss within ten minutes ends a room', () => {
  let now = 0;
  const losses = new LegLosses(() => now);
  assert.equal(losses.count(), true);
  now += 5 * 60_000;
  assert.equal(losses.count(), true);
  now += 5 * 60_000;
  assert.equal(losses.count(), true, 'the first one is ten minutes old');
  now += 4 * 60_000;
  assert.equal(losses.count(), false);
});
