// Test layers: which layers and files a test command runs, and the summary of their counts.

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';

import { withBatches } from '../../../tools/test-runner/batches.mjs';
import { chooseLayers, endToEnd, jobsOf, layers, sum, summary, testFiles } from '../../../tools/test-runner/layers.mjs';
import { fieldsOf } from '../../kit/fields.ts';
import { tempFolder } from '../../kit/temp-folder.ts';

test('without a name all layers run, house first and browser last', () => {
  const { chosen, filters } = chooseLayers([]);
  assert.deepEqual(fieldsOf(chosen, 'name'), ['house', 'unit', 'contract', 'media', 'hostile', 'cluster', 'kubernetes', 'browser']);
  assert.deepEqual(filters, []);
});

test('named layers run in the order of the table, other arguments filter files', () => {
  const { chosen, filters } = chooseLayers(['media', 'simulcast', 'unit']);
  assert.deepEqual(fieldsOf(chosen, 'name'), ['unit', 'media']);
  assert.deepEqual(filters, ['simulcast']);
});

test('the timeout of a file is longer than that of a test in every layer', () => {
  for (const { name, testTimeout, fileTimeout } of [...layers, endToEnd]) assert.ok(fileTimeout > testTimeout, name);
});

const tests = join(import.meta.dirname, '../..');

test('heavy files start first, then slow ones, and the layer of the shortest files fills the gaps', () => {
  const jobs = jobsOf(layers.map((layer) => ({ layer, files: testFiles(join(tests, layer.name), []) })));
  const media = layers.find(({ name }) => name === 'media') ?? assert.fail('no layer "media"');
  const turn = (name: string) => jobs.findIndex((job) => job.name === name);
  const turns = [
    'house/files',
    'browser/hls',
    'media/leaks',
    'hostile/guest',
    'media/churn',
    'browser/turn',
    'media/quotas',
    'unit/tools/layers',
  ].map(turn);
  assert.deepEqual(
    turns,
    turns.toSorted((one, other) => one - other),
  );
  assert.ok(!turns.includes(-1));
  assert.deepEqual([jobs[0]?.layer.name, jobs.at(-1)?.layer.name], ['house', 'unit']);
  assert.deepEqual([jobs[turn('media/leaks')]?.cores, jobs[turn('media/churn')]?.cores], [media.heavy?.leaks, media.cores]);
});

test('files that create network devices, node processes or cluster nodes, or kill media workers, run in a separate network', () => {
  const plan = [...layers, endToEnd].map((layer) => ({ layer, files: testFiles(join(tests, layer.name), []) }));
  const own = new Map(jobsOf(plan).map(({ name, ownNetwork }) => [name, ownNetwork]));
  const names = [
    'cluster/network',
    'cluster/erlang',
    'browser/network-cuts',
    'browser/node-loss',
    'hostile/cluster',
    'e2e/install',
    'e2e/upgrade',
    'media/worker-pool',
    'hostile/workers',
    'media/churn',
    'media/probator',
    'unit/media/worker/free-ports',
  ];
  assert.deepEqual(
    names.map((name) => own.get(name)),
    [true, true, true, true, true, true, true, true, true, true, false, false],
  );
});

test('neighboring files of a layer with batches run in one process, except those apart and those with hooks for all tests', (t) => {
  const folder = tempFolder(t);
  const texts = { a: '', b: '', c: '', d: `\nafterEach(() => {});`, e: '', f: 'const api = await start({ after });', g: '' };
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, `${name}.test.ts`), text);
  const [unit] = chooseLayers(['unit']).chosen;
  const layer = { ...(unit ?? assert.fail()), batch: { files: 2, timeout: 1, apart: [relative(join(tests, 'unit'), join(folder, 'c'))] } };
  const job = (name: string) => ({ name, file: join(folder, `${name}.test.ts`), layer, cores: 1, ownNetwork: name === 'g' });
  const other = { ...job('other'), layer: endToEnd };
  assert.deepEqual(fieldsOf(withBatches([other, ...Object.keys(texts).map(job)]), 'name'), [
    'other',
    'a',
    'b and 1 more',
    'g',
    'c',
    'd',
    'f',
  ]);
});

test('the files that a layer names exist', () => {
  for (const layer of [...layers, endToEnd]) {
    const files = jobsOf([{ layer, files: testFiles(join(tests, layer.name), []) }]).map(({ name }) => name);
    const { heavy = {}, light = {}, first = [], goPrograms = [], batch } = layer;
    const all = [...Object.keys(heavy), ...Object.keys(light), ...first, ...goPrograms, ...(batch?.apart ?? [])];
    const named = all.map((file) => `${layer.name}/${file}`);
    assert.deepEqual(
      named.filter((name) => !files.includes(name)),
      [],
    );
  }
});

test('test files are found in all folders, in order, and filtered by parts of their path', (t) => {
  const folder = tempFolder(t);
  mkdirSync(join(folder, 'rooms'));
  for (const name of ['b.test.ts', 'rooms/a.test.ts', 'helper.ts']) writeFileSync(join(folder, name), '');
  assert.deepEqual(testFiles(folder, []), [join(folder, 'b.test.ts'), join(folder, 'rooms/a.test.ts')]);
  assert.deepEqual(testFiles(folder, ['rooms/']), [join(folder, 'rooms/a.test.ts')]);
  assert.deepEqual(testFiles(join(folder, 'absent'), []), []);
});

test('the last line of a run has the counts of all layers', () => {
  const rows = [
    { name: 'unit', passed: 40, failed: 1, skipped: 0, milliseconds: 1234, computed: 617 },
    { name: 'media', passed: 2, failed: 0, skipped: 3, milliseconds: 60_000 },
    { name: 'kubernetes', passed: 0, failed: 0, skipped: 0, milliseconds: 0, note: 'no tests selected' },
  ];
  assert.deepEqual(sum(rows), { passed: 42, failed: 1, skipped: 3 });
  const lines = summary(rows).split('\n');
  assert.equal(lines.at(-1), '42 passed, 1 failed, 3 skipped');
  assert.match(lines.find((line) => line.startsWith('unit')) ?? '', /^unit +40 +1 +0 +1\.2 +0\.50$/);
  assert.match(lines.find((line) => line.startsWith('kubernetes')) ?? '', /no tests selected$/);
});
