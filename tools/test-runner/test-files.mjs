// Runs test files side by side, shows what each printed when it ends, and runs those that failed once more.

import { availableParallelism } from 'node:os';
import { seconds } from '../steps.mjs';
import { sum } from './layers.mjs';
import { criticalPath, runJobs } from './schedule.mjs';
import { runTestFile } from './test-file.mjs';

/**
 * @typedef {import('./layers.mjs').Layer} Layer
 * @typedef {import('./layers.mjs').TestJob} TestJob
 * @typedef {import('./test-file.mjs').FileResult} FileResult
 * @typedef {TestJob & { programs?: Promise<unknown> }} ReadyJob
 */

/** More files than this that fail and then pass fail the run. */
const maxFlaky = 2;
/** If more files than this fail, the machine or the change is broken, and a second run says nothing. */
const maxAgain = 10;

/** Files of the critical path that took less are only counted, in milliseconds. */
const worthNaming = 5_000;

/** What node:test says at the end of each file; of those that passed one line says it all. */
const tally = /^ℹ (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+\n?/gm;

/**
 * @typedef {object} Outcome
 * @property {Map<TestJob, FileResult>} results of the last run of each
 * @property {string[]} failures of what failed in the end
 * @property {string[]} flaky a line with both outcomes for each file that failed, and passed alone; its failures follow
 * @property {{ job: TestJob, error: unknown }[]} unready those whose programs could not be had
 * @property {string} path the critical path in one line
 */

/**
 * @param {readonly ReadyJob[]} jobs in the order of their turn
 * @param {NodeJS.ProcessEnv} env
 * @param {number} [cores] of the machine
 * @returns {Promise<Outcome>}
 */
export async function runTestFiles(jobs, env, cores = availableParallelism()) {
  /** @type {Outcome['unready']} */
  const unready = [];
  const onlyOne = jobs.length === 1;
  const done = await runJobs(
    jobs,
    cores,
    (job) => runAndShow(job, env, onlyOne),
    (job, error) => unready.push({ job, error }),
  );
  const results = new Map([...done].map(([job, { result }]) => [job, result]));
  const failed = [...results].filter(([, { failed }]) => failed > 0);
  /** @type {string[]} */
  const flaky = [];
  // One that ran alone has had its second chance.
  if (!onlyOne && failed.length <= maxAgain) {
    for (const [job, first] of failed) {
      console.log(`\n${job.name} failed and runs once more, alone.`);
      const second = await runAndShow(job, env, false);
      results.set(job, second);
      if (second.failed > 0) continue;
      flaky.push([`${job.name}: ${first.failed} failed among others, ${second.passed} passed alone`, ...first.failures].join('\n'));
    }
  }
  const failures = [...results.values()].flatMap((result) => result.failures);
  const path = criticalPath(done).map(({ name, span: { from, to } }) => ({ name, milliseconds: to - from }));
  const long = path.filter(({ milliseconds }) => milliseconds >= worthNaming);
  const short = path.length - long.length;
  const steps = long.map(({ name, milliseconds }) => `${name} ${seconds(milliseconds)}`);
  return { results, failures, flaky, unready, path: [...steps, ...(short > 0 ? [`${short} short ones`] : [])].join(' -> ') };
}

/**
 * @param {readonly string[]} flaky
 * @returns {string} what a run says of them, with the sentence that fails it
 */
export function flakyMessage(flaky) {
  const files = flaky.map((each) => each.split('\n', 1)[0]);
  const verdict = tooFlaky(flaky) ? `That is more than ${maxFlaky}: the run failed.` : 'Find the cause before anything else.';
  return `${flaky.length} flaky: ${files.join('; ')}. ${verdict}`;
}

/**
 * Says what came of a run; at its end, because of a long log people, and CI, show the end.
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
 * @returns {import('./layers.mjs').Row} of the table at the end
 */
export function rowOf(layer, results) {
  const own = [...results].filter(([job]) => job.layer === layer).map(([, result]) => result);
  if (own.length === 0) return { name: layer.name, ...sum([]), milliseconds: 0, note: 'no tests here yet' };
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
async function runAndShow({ name, file, ownNetwork, layer: { testTimeout, fileTimeout } }, env, asItComes) {
  const onLine = asItComes ? console.log : undefined;
  const result = await runTestFile({ file, testTimeout, fileTimeout, env, ownNetwork, onLine });
  const { passed, failed, milliseconds, computed, left, output } = result;
  const cores = computed === undefined ? '' : `, ${(computed / milliseconds).toFixed(2)} cores`;
  const told = `${name}: ${passed} passed, ${failed} failed, ${seconds(milliseconds)}${cores}`;
  for (const command of left) console.log(`${name} left running, and it was ended: ${command}`);
  console.log(asItComes ? `\n${told}` : `\n== ${told} ==\n${(failed > 0 ? output : output.replace(tally, '')).trimEnd()}`);
  return result;
}
