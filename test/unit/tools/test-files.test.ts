// Test file runs: counts, retries and reports; each file here is a real one that node:test runs.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';

import { withBatches } from '../../../tools/test-runner/batches.mjs';
import type { Layer } from '../../../tools/test-runner/layers.mjs';
import { flakyMessage, runTestFiles, tooFlaky } from '../../../tools/test-runner/test-files.mjs';
import { fieldsOf } from '../../kit/fields.ts';
import { tempFolder } from '../../kit/temp-folder.ts';

const layer: Layer = { name: 'none', packages: [], cores: 1, testTimeout: 20_000, fileTimeout: 20_000 };

/** Each text is the body of a test file, in which node:test's `test`, `assert`, and `folder` are defined. */
function jobs(t: TestContext, files: Record<string, string>, own: Partial<Layer> = {}) {
  t.mock.method(console, 'log', () => {});
  const folder = tempFolder(t);
  const head = `import assert from 'node:assert'; import fs from 'node:fs'; import { test } from 'node:test'; const folder = import.meta.dirname;`;
  return Object.entries(files).map(([name, body]) => {
    const file = join(folder, `${name}.test.ts`);
    writeFileSync(file, `${head}\n${body}\n`);
    return { name, file, layer: { ...layer, ...own }, cores: 1 };
  });
}

const mayMakeGroups = { skip: process.platform === 'linux' && process.getuid?.() === 0 ? false : 'control groups need root' };
const good = `test('good', () => {}); test('later', { skip: true }, () => {});`;
const bad = `test('bad', () => assert.equal(1, 2));`;
/** Fails the first time. */
const sometimes = `test('sometimes', () => { const again = fs.existsSync(folder + '/mark'); fs.writeFileSync(folder + '/mark', ''); assert.ok(again, 'the first time'); });`;

test('files are counted, and a file that failed twice is reported with its error', async (t) => {
  const { results, failures, flaky } = await runTestFiles(jobs(t, { good, bad }), process.env);
  const counts = [...results].map(([{ name }, { passed, failed, skipped }]) => [name, passed, failed, skipped]);
  assert.deepEqual(counts.sort(), [
    ['bad', 0, 1, 0],
    ['good', 1, 0, 1],
  ]);
  assert.equal(failures.length, 1);
  assert.match(failures[0] ?? '', /bad\.test\.ts:2 bad\n[\s\S]*1 == 2/);
  assert.deepEqual(flaky, []);
});

test('a file that fails in parallel and passes alone is flaky, reported with both results and its first error', async (t) => {
  const { failures, flaky } = await runTestFiles(jobs(t, { good, sometimes }), process.env);
  assert.deepEqual(failures, []);
  assert.equal(flaky.length, 1);
  assert.match(flaky[0] ?? '', /^sometimes: 1 failed in parallel, 1 passed alone\n[\s\S]*the first time/);
  assert.equal(tooFlaky(flaky), false);
  assert.match(flakyMessage(flaky), /^1 flaky: sometimes: 1 failed in parallel, 1 passed alone\. Find the cause/);
});

test('a file that ran alone is not repeated, and more than two flaky files fail a run', async (t) => {
  const { failures, flaky } = await runTestFiles(jobs(t, { sometimes }), process.env);
  assert.deepEqual([failures.length, flaky.length], [1, 0]);
  assert.equal(tooFlaky(['a', 'b', 'c']), true);
  assert.match(flakyMessage(['a: x\nerror', 'b: y', 'c: z']), /^3 flaky: a: x; b: y; c: z\. More than 2 flaky files fail the run\.$/);
});

test('a file fails without a failed test if it cannot be loaded or exceeds its timeout', async (t) => {
  const files = { syntax: 'import { nothing } from "node:fs"; nothing();', stays: `${good} setInterval(() => {}, 1000);` };
  const { results, failures } = await runTestFiles(jobs(t, files, { fileTimeout: 2_000 }), process.env);
  assert.deepEqual(fieldsOf([...results.values()], 'failed'), [1, 1]);
  assert.match(failures.join('\n'), /syntax\.test\.ts exited with code 1[\s\S]*does not provide an export/);
  assert.match(failures.join('\n'), /stays\.test\.ts did not exit within 2 s and was killed; open resources: .*Timeout/);
});

test('a failed hook at the end of a file or suite fails the file', async (t) => {
  const hooks = {
    file: `import { after } from 'node:test'; after(() => { throw new Error('it stays'); }); ${good}`,
    suite: `import { after, describe } from 'node:test'; describe('all', () => { after(() => { throw new Error('it stays'); }); ${good} });`,
  };
  const { results, failures } = await runTestFiles(jobs(t, hooks), process.env);
  assert.deepEqual(fieldsOf([...results.values()], 'passed', 'failed'), [
    [1, 1],
    [1, 1],
  ]);
  assert.equal(failures.filter((failure) => failure.includes('it stays')).length, 2);
});

/** The files as one batch. */
function batch(t: TestContext, files: Record<string, string>) {
  const all = withBatches(jobs(t, files, { batch: { files: 20, timeout: 20_000, apart: [] } }));
  assert.equal(all.length, 1);
  return all;
}

test('files of a batch are counted and reported one by one, and only those that failed run again', async (t) => {
  const { results, failures, flaky } = await runTestFiles(batch(t, { good, bad, sometimes, other: good }), process.env);
  const counts = [...results].map(([{ name }, { passed, failed, skipped }]) => [name, passed, failed, skipped]);
  assert.deepEqual(counts, [
    ['good and 3 more', 2, 0, 2],
    ['bad', 0, 1, 0],
    ['sometimes', 1, 0, 0],
  ]);
  assert.equal(failures.length, 1);
  assert.match(failures[0] ?? '', /bad\.test\.ts:2 bad\n[\s\S]*1 == 2/);
  assert.deepEqual(flaky.length, 1);
  assert.match(flaky[0] ?? '', /^sometimes: 1 failed in parallel, 1 passed alone\n/);
});

test('a file that changes global state for the next files of its batch fails in it', async (t) => {
  const changes = `process.env.LEFT = 'x'; process.on('SIGUSR2', () => {}); globalThis.fetch = () => {}; ${good}`;
  const { failures, flaky } = await runTestFiles(batch(t, { good, changes, last: good }), process.env);
  assert.deepEqual(failures, []);
  assert.equal(flaky.length, 1);
  assert.match(flaky[0] ?? '', /^changes: 1 failed in parallel, 1 passed alone\n/);
  assert.match(
    flaky[0] ?? '',
    /changed for the next ones: globalThis\.fetch, listeners of process "SIGUSR2", process\.env\.LEFT; restore it/,
  );
});

test('if a batch ends early, each of its files runs alone', async (t) => {
  const exits = `if (process.argv.length > 2) process.exit(3); ${good}`;
  const { results, failures, flaky } = await runTestFiles(batch(t, { good, exits, last: good }), process.env);
  assert.deepEqual(
    [...results].map(([{ name }, { passed }]) => [name, passed]),
    [
      ['good', 1],
      ['exits', 1],
      ['last', 1],
    ],
  );
  assert.deepEqual(failures, []);
  assert.match(flaky.join(), /^good and 2 more: 1 failed in parallel, 3 passed alone\n.*exited with code 3/s);
});

test('a recorded secret in the output fails the file', async (t) => {
  const prints = `test('prints', () => {
    fs.appendFileSync(process.env.MEDIAROOMS_TEST_SECRETS, JSON.stringify({ kind: 'an API token', value: 'abcdefghijklmnopqrst' }) + '\\n');
    console.log('the token is ' + 'abcdefghij' + 'klmnopqrst');
  });`;
  const { results, failures } = await runTestFiles(jobs(t, { prints }), process.env);
  const [result] = [...results.values()];
  assert.deepEqual([result?.passed, result?.failed], [1, 1]);
  assert.match(failures.join(), /an API token was printed: the token is \[here\]/);
});

test('the CPU time of a file includes its child processes, and orphaned processes are killed', mayMakeGroups, async (t) => {
  const busy = 'for (const end = process.cpuUsage().user + 300_000; process.cpuUsage().user < end; );';
  const leaves = `import { spawn, spawnSync } from 'node:child_process';
    test('leaves', () => {
      spawnSync(process.execPath, ['-e', ${JSON.stringify(busy)}]);
      const child = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
      child.unref();
      fs.writeFileSync(folder + '/pid', String(child.pid));
    });`;
  const [job] = jobs(t, { leaves });
  assert.ok(job);
  const { results } = await runTestFiles([job], process.env);
  const [result] = [...results.values()];
  assert.equal(result?.failed, 0);
  assert.ok((result?.computed ?? 0) >= 300, `${result?.computed} ms`);
  assert.deepEqual(result?.left, ['sleep 1000']);
  const pid = Number(readFileSync(join(job.file, '../pid'), 'utf8'));
  // The process that inherits the child may not have reaped it yet.
  assert.equal(existsSync(`/proc/${pid}`) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : '', '');
});
