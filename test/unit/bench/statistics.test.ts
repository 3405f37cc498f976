// Statistics of benchmarks: medians, ratios of pairs, and their texts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatNumber, formatValues, median, quantile, ratios } from '../../bench/statistics.ts';

test('the median is the middle value, or the mean of both middle values', () => {
  assert.equal(median(7), 7);
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 3, 2]), 2.5);
});

test('a quantile is a measured value', () => {
  const values = Array.from({ length: 100 }, (_, index) => index + 1);
  assert.equal(quantile(values, 0.99), 100);
  assert.equal(quantile([5], 0.5), 5);
  assert.ok(Number.isNaN(quantile([], 0.5)));
});

test('values that were measured in pairs have the ratio of each pair, others that of the medians', () => {
  assert.deepEqual(ratios([2, 9], [4, 3]), [0.5, 3]);
  assert.deepEqual(ratios([2, 4, 6], 8), [0.5]);
  assert.equal(ratios([0, 1], [0, 2]), undefined);
});

test('numbers have three significant digits, and large ones separators', () => {
  assert.deepEqual([0.61234, 5, 12.345, 20_600.4, 0, Number.NaN].map(formatNumber), ['0.612', '5', '12.3', '20,600', '0', '-']);
});

test('several values are a range, with the median if they are more than two', () => {
  assert.deepEqual([4, [4], [7, 4], [4, 6, 9], [3, 3, 3], []].map(formatValues), ['4', '4', '4 to 7', '6 (4 to 9)', '3', '']);
});
