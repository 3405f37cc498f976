// Test scheduler: runs as many test files in parallel as the cores allow; files that failed run again at the end, alone.

import { performance } from 'node:perf_hooks';

/**
 * @typedef {object} Job one test file
 * @property {string} name
 * @property {number} cores number of cores that it keeps busy on average
 * @property {Promise<unknown>} [programs] programs that must be installed before it runs
 *
 * @typedef {object} Span run time of a job, in milliseconds since the first one started
 * @property {number} from
 * @property {number} to
 * @property {string} [after] the job whose end freed the cores
 */

/** Cores are fractions that are added and subtracted in different orders, so sums are inexact. */
const rounding = 1e-9;

/**
 * @template {Job} J
 * @param {readonly J[]} waiting in their order of start
 * @param {readonly Job[]} running
 * @param {number} cores of the machine
 * @returns {J | undefined} the first job that fits the free cores; light jobs leave room for a heavy one until one runs; a job that needs
 *   more cores than the machine has runs alone
 */
export function nextJob(waiting, running, cores) {
  const isHeavy = (/** @type {Job} */ job) => job.cores > cores / 2;
  const free = cores - running.reduce((all, job) => all + job.cores, 0) + rounding;
  const kept = running.some(isHeavy) ? 0 : Math.min(cores, waiting.find(isHeavy)?.cores ?? 0);
  return waiting.find((job) => running.length === 0 || job.cores <= free - (isHeavy(job) ? 0 : kept));
}

/**
 * @template {Job} J
 * @template R
 * @param {readonly J[]} jobs in their order of start
 * @param {number} cores of the machine
 * @param {(job: J) => Promise<R>} work rejects only to end the whole run
 * @param {(job: J, error: unknown) => void} onUnready called if its programs could not be installed
 * @returns {Promise<Map<J, { result: R, span: Span }>>} results of all jobs that ran
 */
export async function runJobs(jobs, cores, work, onUnready) {
  const began = performance.now();
  /** @type {Map<J, { result: R, span: Span }>} */
  const done = new Map();
  /** @type {Set<J>} */
  const running = new Set();
  let waiting = jobs.filter(({ programs }) => programs === undefined);
  /** @type {Set<Promise<void>>} */
  const pending = new Set();
  /** @type {unknown[]} */
  const broken = [];
  /** @type {string | undefined} */
  let last;

  for (const programs of new Set(jobs.flatMap((job) => job.programs ?? []))) {
    begin(
      admit(
        programs,
        jobs.filter((job) => job.programs === programs),
      ),
    );
  }
  for (;;) {
    for (let job = next(); job !== undefined; job = next()) {
      const chosen = job;
      waiting = waiting.filter((each) => each !== chosen);
      running.add(chosen);
      begin(perform(chosen));
    }
    if (pending.size === 0) break;
    await Promise.race(pending);
  }
  if (broken.length > 0) throw broken[0];
  return done;

  function next() {
    return broken.length > 0 ? undefined : nextJob(waiting, [...running], cores);
  }

  /** @param {Promise<void>} work */
  function begin(work) {
    const ended = work.catch((error) => void broken.push(error)).finally(() => pending.delete(ended));
    pending.add(ended);
  }

  /**
   * @param {Promise<unknown>} programs
   * @param {readonly J[]} those jobs that wait for them
   */
  async function admit(programs, those) {
    try {
      await programs;
    } catch (error) {
      for (const job of those) onUnready(job, error);
      return;
    }
    waiting = jobs.filter((job) => waiting.includes(job) || those.includes(job));
  }

  /** @param {J} job */
  async function perform(job) {
    const span = { from: performance.now() - began, ...(last === undefined ? {} : { after: last }) };
    try {
      const result = await work(job);
      done.set(job, { result, span: { ...span, to: performance.now() - began } });
    } finally {
      last = job.name;
      running.delete(job);
    }
  }
}

/**
 * @param {ReadonlyMap<Job, { span: Span }>} done
 * @returns {{ name: string, span: Span }[]} the critical path: the last job, the job whose end freed its cores, and so on, in start order
 */
export function criticalPath(done) {
  const spans = [...done].map(([{ name }, { span }]) => ({ name, span }));
  /** @type {{ name: string, span: Span }[]} */
  const path = [];
  let last = spans.sort((one, other) => other.span.to - one.span.to)[0];
  while (last !== undefined) {
    path.unshift(last);
    const { after } = last.span;
    last = spans.find(({ name }) => name === after);
  }
  return path;
}
