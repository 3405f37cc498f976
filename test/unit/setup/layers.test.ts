// Which layers and files a test command runs, and how their counts are summed up.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';

import { batches, chooseLayers, layers, slowest, sum, summary, testFiles } from '../../../node/setup/layers.mjs';

test('without a name all layers run, house first and browser last', () => {
  const { chosen, filters } = chooseLayers([]);
  assert.deepEqual(
    chosen.map(({ name }) => name),
    ['house', 'unit', 'contract', 'media', 'hostile', 'cluster', 'kubernetes', 'browser'],
  );
  assert.deepEqual(filters, []);
});

test('named layers run in their own order, other words filter files', () => {
  const { chosen, filters } = chooseLayers(['media', 'simulcast', 'unit']);
  assert.deepEqual(
    chosen.map(({ name }) => name),
    ['unit', 'media'],
  );
  assert.deepEqual(filters, ['simulcast']);
});

test('a file outlives its tests: its deadline is the longer one in every layer', () => {
  for (const { name, testTimeout, fileTimeout } of layers) assert.ok(fileTimeout > testTimeout, name);
});

test('files of a layer run together, the longest first, but for those that are to be alone', () => {
  const layer = { concurrency: 2, first: ['room'], alone: ['hls'] };
  assert.deepEqual(batches(layer, ['a/hls.test.ts', 'a/hls-composer.test.ts', 'a/room.test.ts']), [
    { concurrency: 2, files: ['a/room.test.ts', 'a/hls-composer.test.ts'] },
    { concurrency: 1, files: ['a/hls.test.ts'] },
  ]);
  assert.deepEqual(batches(layer, ['a/hls.test.ts']), [{ concurrency: 1, files: ['a/hls.test.ts'] }]);
  for (const { name, first = [], alone = [] } of layers) {
    const files = testFiles(join(import.meta.dirname, '../..', name), []).map((file) => basename(file, '.test.ts'));
    for (const file of [...first, ...alone]) assert.ok(files.includes(file), `${name} has no ${file}`);
  }
});

test('test files are found in all folders, in order, and filtered by parts of their path', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mediarooms-layers-'));
  try {
    mkdirSync(join(folder, 'rooms'));
    for (const name of ['b.test.ts', 'rooms/a.test.ts', 'helper.ts']) writeFileSync(join(folder, name), '');
    assert.deepEqual(testFiles(folder, []), [join(folder, 'b.test.ts'), join(folder, 'rooms/a.test.ts')]);
    assert.deepEqual(testFiles(folder, ['rooms/']), [join(folder, 'rooms/a.test.ts')]);
    assert.deepEqual(testFiles(join(folder, 'absent'), []), []);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the last line of a run is plain and counts all layers', () => {
  const rows = [
    { name: 'unit', passed: 40, failed: 1, skipped: 0, milliseconds: 1234, cores: 1.25 },
    { name: 'media', passed: 2, failed: 0, skipped: 3, milliseconds: 60_000 },
    { name: 'kubernetes', passed: 0, failed: 0, skipped: 0, milliseconds: 0, note: 'no tests here yet' },
  ];
  assert.deepEqual(sum(rows), { passed: 42, failed: 1, skipped: 3 });
  const lines = summary(rows).split('\n');
  assert.equal(lines.at(-1), '42 passed, 1 failed, 3 skipped');
  assert.match(lines.find((line) => line.startsWith('unit')) ?? '', /^unit +40 +1 +0 +1\.2 +1\.3$/);
  assert.match(lines.find((line) => line.startsWith('kubernetes')) ?? '', /no tests here yet$/);
});

test('the slowest files of a layer are named, the slowest first', () => {
  assert.equal(slowest({ '/a/short.test.ts': 400, '/a/long.test.ts': 61_400, '/b/middle.test.ts': 33_000 }), 'long 61, middle 33, short 0');
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`/file-${index}.test.ts`, index * 1000]));
  assert.equal(slowest(many).split(', ').length, 10);
});
