// `npm test [-- LAYER ...] [PART_OF_A_FILE_NAME ...] [--changed [REV]]`: installs dependencies, runs the layers, prints a summary.

import { join } from 'node:path';
import { performance } from 'node:perf_hooks';

import { ensureBuilds } from '../builds.mjs';
import { ensureDependencies } from '../dependencies.mjs';
import { ensureKubernetes } from '../kubernetes/kubernetes.mjs';
import { ensureNode } from '../node-bundle.mjs';
import { ensureOperator } from '../operator-bundle.mjs';
import { ensurePackages } from '../packages.mjs';
import { childEnvironment, root } from '../paths.mjs';
import { fail, SetupError, seconds } from '../steps.mjs';
import { ensureWorker, findWorker } from '../worker/worker.mjs';
import { ensureAnswerValidators } from './answer-validators.mjs';
import { withBatches } from './batches.mjs';
import { changedSince, planFor, takeRevision } from './changed.mjs';
import { checkNames, runCheck } from './check.mjs';
import { ensureGoPrograms } from './go-programs.mjs';
import { chooseLayers, jobsOf, layers, nameOf, sum, summary, testFiles } from './layers.mjs';
import { ensureLibraries } from './libraries/library-bundles.mjs';
import { ensureRuntimes } from './runtimes.mjs';
import { report, rowOf, runTestFiles, tooFlaky } from './test-files.mjs';

/**
 * @typedef {import('./layers.mjs').Layer} Layer
 * @typedef {import('./layers.mjs').Row} Row
 * @typedef {import('./test-files.mjs').Outcome} Outcome
 */

const started = performance.now();
const { revision, rest } = takeRevision(
  process.argv.slice(2),
  layers.map(({ name }) => name),
);
const { chosen, filters } = chooseLayers(rest);
let plan = chosen.map((layer) => ({ layer, files: testFiles(join(root, 'test', layer.name), filters) }));

try {
  if (filters.length > 0 && plan.every(({ files }) => files.length === 0)) {
    throw new SetupError(
      `No test file path contains "${filters.join('" or "')}".`,
      `choose a layer or a file name under ${join(root, 'test')}`,
    );
  }
  if (revision !== undefined) plan = await narrow(revision);
  const { programs, variables } = await setUp();
  const checks = filters.length > 0 || !chosen.some((layer) => layer.name === 'house') ? [] : await runChecks();
  const jobs = withBatches(jobsOf(plan)).map((job) => ({ ...job, programs: programs.get(job.layer.name) }));
  const outcome = await runTestFiles(jobs, { ...childEnvironment(findWorker()), ...variables });
  conclude(outcome, [...checks, ...plan.map(({ layer }) => row(layer, outcome))]);
} catch (error) {
  fail(error);
}

/** @param {string} revision */
async function narrow(revision) {
  const changed = await changedSince(revision);
  const narrowed = planFor(plan, changed);
  const count = narrowed.plan.reduce((all, { files }) => all + files.length, 0);
  const why = narrowed.unknown.length > 0 ? `, the whole plan, because no test reaches ${narrowed.unknown.join(', ')}` : '';
  console.log(`${changed.length} files changed since ${revision}: running ${count} test files${why}.`);
  return narrowed.plan;
}

/**
 * @returns {Promise<{ programs: Map<string, Promise<unknown>>, variables: NodeJS.ProcessEnv }>} programs: by layer, pending while they are
 *   built, so that other layers can start; variables: of the test files
 */
async function setUp() {
  await ensureDependencies();
  const filled = plan.filter(({ files }) => files.length > 0);
  const needed = filled.map(({ layer }) => layer);
  if (needed.some((layer) => layer.worker)) await ensureWorker();
  await ensurePackages([...new Set(needed.flatMap((layer) => layer.packages))], 'the tests');
  if (needed.some((layer) => layer.builds)) await ensureBuilds();
  if (needed.some((layer) => layer.operator)) await ensureOperator();
  if (needed.some((layer) => layer.runtimes)) await ensureRuntimes();
  const variables = needed.some((layer) => layer.worker)
    ? { ...(await ensureAnswerValidators()), ...(await ensureNode()), ...(await ensureLibraries()) }
    : {};
  /** @type {Map<string, Promise<unknown>>} */
  const coming = new Map();
  /** @type {Promise<unknown>} */
  let last = Promise.resolve();
  for (const { layer, files } of filled) {
    const { name, programs, goPrograms = [] } = layer;
    if (!programs) continue;
    last = last.catch(() => {}).then(() => ensureKubernetes(programs));
    if (files.some((file) => goPrograms.includes(nameOf(layer, file)))) last = last.then(ensureGoPrograms);
    coming.set(name, last);
  }
  // The promises in the map report the error.
  last.catch(() => {});
  return { programs: coming, variables };
}

/** @returns {Promise<Row[]>} lint and types, each counted as one check */
async function runChecks() {
  const rows = [];
  for (const name of checkNames) {
    console.log(`\n== ${name} ==`);
    const began = performance.now();
    const passed = await runCheck(name);
    rows.push({ name, passed: passed ? 1 : 0, failed: passed ? 0 : 1, skipped: 0, milliseconds: performance.now() - began });
  }
  return rows;
}

/**
 * @param {Layer} layer
 * @param {Outcome} outcome
 * @returns {Row}
 */
function row(layer, { results, unready }) {
  const missing = unready.some(({ job }) => job.layer === layer);
  if (!missing) return rowOf(layer, results);
  return { name: layer.name, passed: 0, failed: 1, skipped: 0, milliseconds: 0, note: 'required programs could not be installed' };
}

/**
 * @param {Outcome} outcome
 * @param {readonly Row[]} rows
 */
function conclude(outcome, rows) {
  for (const error of new Set(outcome.unready.map(({ error }) => error))) fail(error);
  report(outcome);
  console.log(`\ncritical path: ${outcome.path}`);
  console.log(`total time with setup: ${seconds(performance.now() - started)}; the seconds of a layer are the sum over its files`);
  console.log(`\n${summary(rows)}`);
  if (sum(rows).failed > 0 || tooFlaky(outcome.flaky)) process.exitCode = 1;
}
