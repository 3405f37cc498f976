// Byte ranges in the syntax of clients.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRange } from '../../../node/storage/ranges.ts';

for (const [header, size, expected] of [
  [undefined, 10, 'whole'],
  ['bytes=0-', 10, { start: 0, end: 9 }],
  ['bytes=2-4', 10, { start: 2, end: 4 }],
  ['BYTES=2-400', 10, { start: 2, end: 9 }],
  ['bytes=-3', 10, { start: 7, end: 9 }],
  ['bytes=-30', 10, { start: 0, end: 9 }],
  ['bytes=9-9', 10, { start: 9, end: 9 }],
  ['bytes=10-', 10, 'unsatisfiable'],
  ['bytes=-0', 10, 'unsatisfiable'],
  ['bytes=0-0', 0, 'unsatisfiable'],
  ['bytes=-5', 0, 'unsatisfiable'],
  ['bytes=4-2', 10, 'whole'],
  ['bytes=-', 10, 'whole'],
  ['bytes=0-1,3-4', 10, 'whole'],
  ['bytes=a-b', 10, 'whole'],
  ['items=0-1', 10, 'whole'],
  ['bytes=0x1-2', 10, 'whole'],
  [`bytes=${'9'.repeat(400)}-`, 10, 'whole'],
] as const) {
  test(`${String(header).slice(0, 40)} of ${size} bytes`, () => assert.deepEqual(readRange(header, size), expected));
}
