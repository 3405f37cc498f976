// Virtual rows: rendered rows around the viewport, around the focus and at both ends, and heights of omitted rows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawnRows, follow, RowHeights, rangeBetween } from '../../../packages/console/src/components/virtual-rows.ts';

const keysOf = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `r${from + index}`);

function heightsOf(seen: Record<string, number>, gap = 0): RowHeights {
  const heights = new RowHeights();
  heights.learn(new Map(Object.entries(seen)), gap);
  return heights;
}

test('a row that was never rendered has the average height of the first ones, others their measured height', () => {
  const heights = new RowHeights();
  assert.equal(heights.learn(new Map([['r0', 40]]), 0), true);
  assert.equal(heights.learn(new Map([['r1', 90]]), 0), false, 'the estimate does not change with every row');
  assert.deepEqual([heights.pitch('r0'), heights.pitch('r1'), heights.pitch('r2')], [40, 90, 40]);
  heights.keep(new Set(['r0']));
  assert.equal(heights.pitch('r1'), 40, 'heights of removed rows are forgotten');
  heights.forget();
  assert.equal(heights.learn(new Map(Object.entries({ r0: 60, r1: 80 })), 0), true, 'a changed width resets the estimate');
  assert.equal(heights.pitch('r2'), 70);
});

test('a spacer is as high as the omitted rows with their gaps', () => {
  const heights = heightsOf({ r0: 100, r1: 100, r2: 130 }, 10);
  assert.equal(heights.total([]), 0);
  assert.equal(heights.total(['r0']), 100);
  assert.equal(heights.total(['r0', 'r1', 'r2']), 350);
});

test('the range covers the viewport and little more, at the top, in the middle and at the end', () => {
  const keys = keysOf(1_000);
  const heights = heightsOf({ r0: 50 });
  for (const top of [-400, -1, 0, 49, 50, 12_345, 49_000, 49_999, 60_000]) {
    const { from, to, key } = rangeBetween(keys, heights, top, top + 900);
    const first = Math.min(999, Math.max(0, Math.floor(top / 50)));
    const last = Math.min(999, Math.max(0, Math.ceil((top + 900) / 50) - 1));
    assert.ok(from <= first && to > last, `at ${top} px ${from} to ${to} does not cover ${first} to ${last}`);
    assert.ok(to - from <= 50, `at ${top} px ${to - from} rows`);
    assert.ok(from >= 0 && to <= 1_000);
    assert.equal(key, keys[from]);
  }
});

test('the range rarely changes while scrolling by less than a row', () => {
  const keys = keysOf(1_000);
  const heights = heightsOf({ r0: 50 });
  const ranges = Array.from({ length: 100 }, (_, index) => rangeBetween(keys, heights, 5_000 + index * 10, 5_900 + index * 10).from);
  assert.ok(new Set(ranges).size <= 22, `${new Set(ranges).size} ranges in 20 rows`);
});

test('the range follows its rows if others are added or removed above', () => {
  const keys = keysOf(500);
  const range = { from: 200, to: 230, key: 'r200' };
  assert.deepEqual(follow(range, keys), range);
  assert.deepEqual(follow(range, keysOf(490, 10)), { from: 190, to: 220, key: 'r200' });
  assert.deepEqual(follow(range, ['new', ...keys]), { from: 201, to: 231, key: 'r200' });
  assert.deepEqual(
    follow(
      range,
      keys.filter((key) => key !== 'r200'),
    ),
    { from: 200, to: 230, key: 'r201' },
    'its first row was removed',
  );
});

test('a range at the top stays there, and one beyond the end of a shorter table moves to its end', () => {
  assert.deepEqual(follow({ from: 0, to: 30, key: 'r0' }, ['new', ...keysOf(500)]), { from: 0, to: 30, key: 'new' });
  assert.deepEqual(follow({ from: 400, to: 430, key: 'r400' }, keysOf(100)), { from: 70, to: 100, key: 'r70' });
  assert.deepEqual(follow({ from: 400, to: 430, key: 'r400' }, keysOf(5)), { from: 0, to: 5, key: 'r0' });
});

test('both ends and the focused row with its neighbors are rendered, and the heights add up', () => {
  const keys = keysOf(100);
  const heights = heightsOf({ r0: 10 });
  const drawn = drawnRows(keys, heights, { from: 50, to: 53, key: 'r50' }, 'r20');
  assert.deepEqual(drawn, [
    { index: 0, left: 0 },
    { index: 19, left: 180 },
    { index: 20, left: 0 },
    { index: 21, left: 0 },
    { index: 50, left: 280 },
    { index: 51, left: 0 },
    { index: 52, left: 0 },
    { index: 99, left: 460 },
  ]);
  assert.equal(
    drawn.reduce((sum, { left }) => sum + left + 10, 0),
    1_000,
  );
});

test('no row is rendered twice for a focus in the range, at an end or in a removed row', () => {
  const keys = keysOf(10);
  const heights = heightsOf({ r0: 10 });
  const indices = (focused: string | undefined) =>
    drawnRows(keys, heights, { from: 0, to: 3, key: 'r0' }, focused).map(({ index }) => index);
  assert.deepEqual(indices('r1'), [0, 1, 2, 9]);
  assert.deepEqual(indices('r9'), [0, 1, 2, 8, 9]);
  assert.deepEqual(indices('gone'), [0, 1, 2, 9]);
  assert.deepEqual(indices(undefined), [0, 1, 2, 9]);
  assert.deepEqual(drawnRows([], heights, { from: 0, to: 0, key: undefined }, 'r1'), []);
});
