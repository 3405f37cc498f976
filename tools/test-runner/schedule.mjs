// Runs the files of a test command: as many at once as the cores of the machine carry, those that failed once more at the end, alone.

import { performance } from 'node:perf_hooks';

/**
 * @typedef {object} Job one test file
 * @property {string} name
 * @property {number} cores how many it keeps busy on average
 * @property {Promise<unknown>} [programs] what it waits for before it can run
 *
 * @typedef {object} Span when a job ran, in milliseconds since the first one began
 * @property {number} from
 * @property {number} to
 * @property {string} [after] the job whose end made room for it
 */

/** Cores are fractions: they are summed up in another order than they are given back. */
const rounding = 1e-9;

/**
 * @template {Job} J
 * @param {readonly J[]} waiting in the order of their turn
 * @param {readonly Job[]} running
 * @param {number} cores of the machine
 * @returns {J | undefined} the first that the cores still carry, where light ones leave room for a heavy one until one runs; a job that wants more
 *   cores than there are runs alone
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
 * @param {readonly J[]} jobs in the order of their turn
 * @param {number} cores of the machine
 * @param {(job: J) => Promise<R>} work rejects only if the whole run is to end
 * @param {(job: J, error: unknown) => void} onUnready its programs cannot be had
 * @returns {Promise<Map<J, { result: R, span: Span }>>} of all that ran
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
   * @param {readonly J[]} those that wait for them
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
 * @returns {{ name: string, span: Span }[]} what the end of the run waited for: the last job, the one whose end made room for it, and so on; the first one first
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
