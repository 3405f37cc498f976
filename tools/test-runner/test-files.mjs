// Test file scheduler: runs test files and batches in parallel, prints the output of each at its end, and runs failed files again.

import { availableParallelism } from 'node:os';
import { relative } from 'node:path';
import { root } from '../paths.mjs';
import { seconds } from '../steps.mjs';
import { sum } from './layers.mjs';
import { LoadWatch } from './machine/load-watch.mjs';
import { criticalPath, runJobs } from './schedule.mjs';
import { runTestFile } from './test-file.mjs';

/**
 * @typedef {import('./layers.mjs').Layer} Layer
 * @typedef {import('./layers.mjs').TestJob} TestJob
 * @typedef {import('./test-file.mjs').FileResult} FileResult
 * @typedef {TestJob & { programs?: Promise<unknown> }} ReadyJob
 */

/** A run fails if more files than this fail first and pass when repeated. */
const maxFlaky = 2;
/** If more files than this fail, the machine or the change is broken, and repeating them proves nothing. */
const maxAgain = 10;

/** Shorter files of the critical path are counted, not named, in milliseconds. */
const worthNaming = 5_000;

/** The summary of node:test at the end of each file; one line replaces it if the file passed. */
const tally = /^ℹ (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+\n?/gm;

/**
 * @typedef {object} Outcome
 * @property {Map<TestJob, FileResult>} results of the last run of each
 * @property {string[]} failures of the files that failed in the end
 * @property {string[]} flaky a line with both results for each file that failed and then passed alone; its failures follow
 * @property {{ job: TestJob, error: unknown }[]} unready jobs whose programs could not be installed
 * @property {string} path the critical path in one line
 */

/**
 * @param {readonly ReadyJob[]} jobs in their order of start
 * @param {NodeJS.ProcessEnv} env
 * @param {number} [cores] of the machine
 * @returns {Promise<Outcome>}
 */
export async function runTestFiles(jobs, env, cores = availableParallelism()) {
  /** @type {Outcome['unready']} */
  const unready = [];
  const onlyOne = jobs.length === 1 && jobs[0]?.batch === undefined;
  const load = new LoadWatch(cores);
  const done = await runJobs(
    jobs,
    cores,
    (job) => runAndShow(job, env, onlyOne),
    (job, error) => unready.push({ job, error }),
    () => load.overloaded,
  ).finally(() => load.stop());
  const results = new Map([...done].map(([job, { result }]) => [job, result]));
  const failed = [...results].filter(([, { failed }]) => failed > 0);
  /** @type {string[]} */
  const flaky = [];
  // A file that ran alone is not repeated.
  if (!onlyOne && failed.length <= maxAgain) {
    for (const [job, first] of failed.flatMap(([job, result]) => splitFailed(job, result, results))) {
      console.log(`\n${job.name} failed; running it again, alone.`);
      const second = await runAlone(job, env, results);
      if (second.failed > 0) continue;
      flaky.push([`${job.name}: ${first.failed} failed in parallel, ${second.passed} passed alone`, ...first.failures].join('\n'));
    }
  }
  const failures = [...results.values()].flatMap((result) => result.failures);
  const path = criticalPath(done).map(({ name, span: { from, to } }) => ({ name, milliseconds: to - from }));
  const long = path.filter(({ milliseconds }) => milliseconds >= worthNaming);
  const short = path.length - long.length;
  const steps = long.map(({ name, milliseconds }) => `${name} ${seconds(milliseconds)}`);
  return { results, failures, flaky, unready, path: [...steps, ...(short > 0 ? [`${short} short files`] : [])].join(' -> ') };
}

/**
 * @param {TestJob} job that failed
 * @param {FileResult} result
 * @param {Outcome['results']} results in which a batch is replaced by its files, if each failure belongs to one of them
 * @returns {[TestJob, Pick<FileResult, 'failed' | 'failures'>][]} what is run again
 */
function splitFailed(job, result, results) {
  const { batch = [] } = job;
  const { files = [] } = result;
  const failed = files.filter((file) => file.failed > 0);
  if (batch.length === 0 || sum(failed).failed !== result.failed) return [[job, result]];
  results.set(job, { ...result, ...sum(files), failed: 0, failures: [] });
  return failed.flatMap((file) => batch.filter((each) => pathOf(each) === file.path).map((each) => /** @type {const} */ ([each, file])));
}

/**
 * @param {TestJob} job one file, or a batch of which each file then runs alone
 * @param {NodeJS.ProcessEnv} env
 * @param {Outcome['results']} results
 * @returns {Promise<import('./layers.mjs').Counts>}
 */
async function runAlone(job, env, results) {
  if (job.batch !== undefined) results.delete(job);
  const alone = [];
  for (const each of job.batch ?? [job]) {
    const result = await runAndShow(each, env, false);
    results.set(each, result);
    alone.push(result);
  }
  return sum(alone);
}

/** @param {TestJob} job */
function pathOf({ file }) {
  return relative(root, file);
}

/**
 * @param {readonly string[]} flaky
 * @returns {string} the message about flaky files, with the verdict on the run
 */
export function flakyMessage(flaky) {
  const files = flaky.map((each) => each.split('\n', 1)[0]);
  const verdict = tooFlaky(flaky) ? `More than ${maxFlaky} flaky files fail the run.` : 'Find the cause before you continue.';
  return `${flaky.length} flaky: ${files.join('; ')}. ${verdict}`;
}

/**
 * Prints the failures of a run last, because people and CI read the end of a long log.
 * @param {Outcome} outcome
 */
export function report({ failures, flaky }) {
  for (const each of flaky) console.log(`\n⚠ flaky: ${each}`);
  for (const failure of failures) console.log(`\n✖ ${failure}`);
  if (flaky.length > 0) console.log(`\n${flakyMessage(flaky)}`);
}

/**
 * @param {Layer} layer
 * @param {Outcome['results']} results
 * @returns {import('./layers.mjs').Row} of the summary table
 */
export function rowOf(layer, results) {
  const own = [...results].filter(([job]) => job.layer === layer).map(([, result]) => result);
  if (own.length === 0) return { name: layer.name, ...sum([]), milliseconds: 0, note: 'no tests selected' };
  const milliseconds = own.reduce((all, each) => all + each.milliseconds, 0);
  const computed = own.reduce((all, each) => all + (each.computed ?? Number.NaN), 0);
  return { name: layer.name, ...sum(own), milliseconds, computed };
}

/**
 * @param {readonly string[]} flaky
 * @returns {boolean}
 */
export function tooFlaky(flaky) {
  return flaky.length > maxFlaky;
}

/**
 * @param {TestJob} job
 * @param {NodeJS.ProcessEnv} env
 * @param {boolean} asItComes
 * @returns {Promise<FileResult>}
 */
async function runAndShow(job, env, asItComes) {
  const { name, file, ownNetwork, layer, batch } = job;
  const { testTimeout } = layer;
  const fileTimeout = (batch && layer.batch?.timeout) ?? layer.fileTimeout;
  const onLine = asItComes ? console.log : undefined;
  const result = await runTestFile({ file, batch: batch?.map((each) => each.file), testTimeout, fileTimeout, env, ownNetwork, onLine });
  const { passed, failed, milliseconds, computed, left, output } = result;
  const cores = computed === undefined ? '' : `, ${(computed / milliseconds).toFixed(2)} cores`;
  const summary = `${name}: ${passed} passed, ${failed} failed, ${seconds(milliseconds)}${cores}`;
  for (const command of left) console.log(`${name} left a process running, which was killed: ${command}`);
  console.log(asItComes ? `\n${summary}` : `\n== ${summary} ==\n${shown(failed > 0 ? output : output.replace(tally, ''), result)}`);
  return result;
}

/**
 * @param {string} output
 * @param {FileResult} result
 * @returns {string} the output; of a batch with the name and the counts of each file above its part
 */
function shown(output, { files = [] }) {
  const waiting = new Map(files.map((file) => [file.path, file]));
  /** @type {string[]} */
  const lines = [];
  let begin = 0;
  for (const line of output.trimEnd().split('\n')) {
    const file = waiting.get(/^[✔✖] (\S+) \(\S+\)$/.exec(line)?.[1] ?? '');
    if (file === undefined) {
      lines.push(line);
      continue;
    }
    lines.splice(begin, 0, `-- ${file.path}: ${file.passed} passed, ${file.failed} failed --`);
    waiting.delete(file.path);
    begin = lines.length;
  }
  return lines.join('\n');
}
