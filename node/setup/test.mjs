// `npm test [-- LAYER ...] [-- PART_OF_A_FILE_NAME ...]`: installs what the layers need, checks, runs them, counts.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { performance } from 'node:perf_hooks';

import { ensureBuilds } from './builds.mjs';
import { checkNames, runCheck } from './check.mjs';
import { ensureDependencies } from './dependencies.mjs';
import { deadlineVariable } from './file-deadline.mjs';
import { ensureKubernetes } from './kubernetes.mjs';
import { batches, chooseLayers, slowest, sum, summary, testFiles } from './layers.mjs';
import { ensurePackages } from './packages.mjs';
import { childEnvironment, pinnedNode, root } from './paths.mjs';
import { ensureRuntimes } from './runtimes.mjs';
import { secretsVariable } from './secret-search.mjs';
import { fail, runInForeground, SetupError } from './steps.mjs';
import { ensureWorker, findWorker } from './worker.mjs';

/**
 * @typedef {import('./layers.mjs').Layer} Layer
 * @typedef {import('./layers.mjs').Row} Row
 */

const { chosen, filters } = chooseLayers(process.argv.slice(2));
/** @type {{ layer: Layer, files: string[] }[]} */
const plan = chosen.map((layer) => ({ layer, files: testFiles(join(root, 'test', layer.name), filters) }));
/** @type {string[]} what failed, with its errors */
const failures = [];
/** @type {Map<string, Promise<unknown>>} programs of a layer: where they must be built they take minutes, and come beside the layers before it */
const coming = new Map();

try {
  if (filters.length > 0 && plan.every(({ files }) => files.length === 0)) {
    throw new SetupError(
      `No test file has "${filters.join('" or "')}" in its path.`,
      `the layers are the folders in ${join(root, 'test')}`,
    );
  }
  await setUp();
  const rows = filters.length > 0 || !chosen.some((layer) => layer.name === 'house') ? [] : await runChecks();
  for (const { layer, files } of plan) rows.push(await runLayer(layer, files));
  // Once more at the end: of a long log people, and CI, show the end.
  for (const failure of failures) console.log(`\n✖ ${failure}`);
  console.log(`\n${summary(rows)}`);
  if (sum(rows).failed > 0) process.exitCode = 1;
} catch (error) {
  fail(error);
}

async function setUp() {
  await ensureDependencies();
  const needed = plan.filter(({ files }) => files.length > 0).map(({ layer }) => layer);
  if (needed.some((layer) => layer.worker)) await ensureWorker();
  await ensurePackages([...new Set(needed.flatMap((layer) => layer.packages))], 'the tests');
  if (needed.some((layer) => layer.builds)) await ensureBuilds();
  if (needed.some((layer) => layer.runtimes)) await ensureRuntimes();
  /** @type {Promise<unknown>} */
  let last = Promise.resolve();
  for (const { name, programs } of needed) {
    if (!programs) continue;
    last = last.catch(() => {}).then(() => ensureKubernetes(programs));
    coming.set(name, last);
  }
  // Each layer tells of its own.
  last.catch(() => {});
}

/** @returns {Promise<Row[]>} lint and types, each counted as one check */
async function runChecks() {
  const rows = [];
  for (const name of checkNames) {
    console.log(`\n== ${name} ==`);
    const started = performance.now();
    const passed = await runCheck(name);
    rows.push({ name, passed: passed ? 1 : 0, failed: passed ? 0 : 1, skipped: 0, milliseconds: performance.now() - started });
  }
  return rows;
}

/**
 * @param {Layer} layer
 * @param {string[]} files
 * @returns {Promise<Row>}
 */
async function runLayer(layer, files) {
  const { name } = layer;
  if (files.length === 0) return { name, passed: 0, failed: 0, skipped: 0, milliseconds: 0, note: 'no tests here yet' };
  try {
    await coming.get(name);
  } catch (error) {
    fail(error);
    return { name, passed: 0, failed: 1, skipped: 0, milliseconds: 0, note: 'its programs could not be got' };
  }
  console.log(`\n== ${name} ==`);
  const started = performance.now();
  const before = busyMilliseconds();
  const outcomes = [];
  for (const batch of batches(layer, files)) outcomes.push(await runBatch(layer, batch));
  console.log(`\nslowest files in seconds: ${slowest(Object.assign({}, ...outcomes.map((outcome) => outcome.files)))}`);
  const note = outcomes.map((outcome) => outcome.note ?? '').join(' ');
  const milliseconds = performance.now() - started;
  return { name, ...sum(outcomes), milliseconds, cores: (busyMilliseconds() - before) / milliseconds, note };
}

/** @returns {number} how long all cores of the machine together have been at work since it started */
function busyMilliseconds() {
  return cpus().reduce((all, { times: { user, nice, sys, irq } }) => all + user + nice + sys + irq, 0);
}

/**
 * @param {Layer} layer
 * @param {{ concurrency: number, files: string[] }} batch
 */
async function runBatch({ testTimeout, fileTimeout }, { concurrency, files }) {
  const folder = mkdtempSync(join(tmpdir(), 'mediarooms-test-'));
  try {
    const [outcome, secrets] = [join(folder, 'outcome.json'), join(folder, 'secrets')];
    const args = ['--import', ours('file-deadline.mjs'), '--test', `--test-concurrency=${concurrency}`, `--test-timeout=${testTimeout}`];
    const reporters = [
      ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
      ...[`--test-reporter=${ours('outcome-reporter.mjs')}`, `--test-reporter-destination=${outcome}`],
    ];
    const names = files.map((file) => relative(root, file));
    const env = { ...childEnvironment(findWorker()), [deadlineVariable]: String(fileTimeout), [secretsVariable]: secrets };
    const { code, signalled } = await runInForeground(pinnedNode, [...args, ...reporters, ...names], env, root);
    if (signalled) throw new SetupError('The tests were interrupted.');
    return readOutcome(outcome, code);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string} file beside this one
 * @returns {string} as a file: URL, which --import and --test-reporter take on every system
 */
function ours(file) {
  return new URL(file, import.meta.url).href;
}

/**
 * A secret that was printed counts as a failed test.
 * @param {string} file
 * @param {number} code what the run exited with
 * @returns {import('./layers.mjs').Counts & { files: Record<string, number>, note?: string }}
 */
function readOutcome(file, code) {
  try {
    /** @type {import('./outcome-reporter.mjs').Outcome} */
    const { counts, files, secrets, ...outcome } = JSON.parse(readFileSync(file, 'utf8'));
    failures.push(...outcome.failures);
    for (const sentence of secrets) console.error(`[secrets] ${sentence}`);
    const { passed = 0, cancelled = 0, skipped = 0, todo = 0 } = counts;
    const failed = (counts.failed ?? 0) + cancelled;
    // A run may fail without a failed test, e.g. when it is ended from outside.
    return { passed, failed: (failed === 0 && code !== 0 ? 1 : failed) + secrets.length, skipped: skipped + todo, files };
  } catch {
    return { passed: 0, failed: 1, skipped: 0, files: {}, note: `ended with code ${code} and no counts` };
  }
}
