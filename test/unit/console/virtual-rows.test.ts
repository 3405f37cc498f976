// Virtual rows: rendered rows around the viewport, around the focus and at both ends, and heights of omitted rows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawnIndices, drawnRows } from '../../../packages/console/src/components/virtual-rows.ts';

const range = (startIndex: number, endIndex: number, count: number, overscan = 0) => ({ startIndex, endIndex, count, overscan });

test('both ends and the focused row with its neighbors are rendered in order', () => {
  assert.deepEqual(drawnIndices(range(50, 52, 100), 20), [0, 19, 20, 21, 50, 51, 52, 99]);
});

test('the range covers little more than the viewport, at the top, in the middle and at the end', () => {
  assert.deepEqual(drawnIndices(range(0, 2, 100, 2), -1), [0, 1, 2, 3, 4, 99]);
  assert.deepEqual(drawnIndices(range(50, 52, 100, 2), -1), [0, 48, 49, 50, 51, 52, 53, 54, 99]);
  assert.deepEqual(drawnIndices(range(97, 99, 100, 2), -1), [0, 95, 96, 97, 98, 99]);
});

test('no row is rendered twice for a focus in the range, at an end or in no row', () => {
  const indices = (focused: number) => drawnIndices(range(0, 2, 10), focused);
  assert.deepEqual(indices(1), [0, 1, 2, 9]);
  assert.deepEqual(indices(9), [0, 1, 2, 8, 9]);
  assert.deepEqual(indices(-1), [0, 1, 2, 9]);
});

test('a spacer is as high as the omitted rows with their gaps, and the heights add up', () => {
  const [height, gap] = [100, 10];
  const items = [0, 1, 5, 9].map((index) => ({ index, start: index * (height + gap), end: index * (height + gap) + height }));
  const drawn = drawnRows(items, gap);
  assert.deepEqual(drawn, [
    { index: 0, left: 0 },
    { index: 1, left: 0 },
    { index: 5, left: 3 * height + 2 * gap },
    { index: 9, left: 3 * height + 2 * gap },
  ]);
  // Spacers have gaps like rows.
  const children = drawn.flatMap(({ left }) => (left > 0 ? [left, height] : [height]));
  assert.equal(
    children.reduce((sum, each) => sum + each + gap, -gap),
    10 * height + 9 * gap,
  );
});
