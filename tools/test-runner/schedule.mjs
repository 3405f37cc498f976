// Test scheduler: runs as many test files in parallel as the cores allow; files that failed run again at the end, alone.

import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

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
/** Interval at which an overloaded machine is checked, in milliseconds. */
const retryMs = 500;

/**
 * @template {Job} J
 * @param {readonly J[]} waiting in their order of start
 * @param {readonly Job[]} running
 * @param {number} cores of the machine
 * @returns {J | undefined} the first job that fits the free cores; light jobs leave room for the next heavy one beside them, and no other
 *   heavy job overtakes it; a job that needs more cores than the machine has runs alone
 */
export function nextJob(waiting, running, cores) {
  const isHeavy = (/** @type {Job} */ job) => job.cores >= cores / 2;
  const freeOf = (/** @type {readonly Job[]} */ jobs) => cores - jobs.reduce((all, job) => all + job.cores, 0) + rounding;
  const heavy = waiting.find(isHeavy);
  const free = freeOf(running);
  const forLight = Math.min(free, freeOf(running.filter((job) => !isHeavy(job))) - Math.min(cores, heavy?.cores ?? 0));
  return waiting.find((job) => running.length === 0 || (isHeavy(job) ? job === heavy && job.cores <= free : job.cores <= forLight));
}

/**
 * @template {Job} J
 * @template R
 * @param {readonly J[]} jobs in their order of start
 * @param {number} cores of the machine
 * @param {(job: J) => Promise<R>} work rejects only to end the whole run
 * @param {(job: J, error: unknown) => void} onUnready called if its programs could not be installed
 * @param {() => boolean} [isOverloaded] true while more jobs would only wait for a core
 * @returns {Promise<Map<J, { result: R, span: Span }>>} results of all jobs that ran
 */
export function runJobs(jobs, cores, work, onUnready, isOverloaded = () => false) {
  return new JobRun(jobs, cores, work, onUnready, isOverloaded).finish();
}

/**
 * @template {Job} J
 * @template R
 */
class JobRun {
  #began = performance.now();
  /** @type {Map<J, { result: R, span: Span }>} */
  #done = new Map();
  /** @type {Set<J>} */
  #running = new Set();
  /** @type {readonly J[]} */
  #waiting;
  /** @type {Set<Promise<void>>} */
  #pending = new Set();
  /** @type {unknown[]} */
  #errors = [];
  /** @type {string | undefined} */
  #last;
  #jobs;
  #cores;
  #work;
  #onUnready;
  #isOverloaded;

  /**
   * @param {readonly J[]} jobs
   * @param {number} cores
   * @param {(job: J) => Promise<R>} work
   * @param {(job: J, error: unknown) => void} onUnready
   * @param {() => boolean} isOverloaded
   */
  constructor(jobs, cores, work, onUnready, isOverloaded) {
    this.#jobs = jobs;
    this.#cores = cores;
    this.#work = work;
    this.#onUnready = onUnready;
    this.#isOverloaded = isOverloaded;
    this.#waiting = jobs.filter(({ programs }) => programs === undefined);
  }

  async finish() {
    for (const programs of new Set(this.#jobs.flatMap((job) => job.programs ?? []))) this.#begin(this.#admit(programs));
    for (;;) {
      this.#startNext();
      if (this.#pending.size === 0) break;
      const retry = this.#isHeld() ? [sleep(retryMs, undefined, { ref: false })] : [];
      await Promise.race([...this.#pending, ...retry]);
    }
    if (this.#errors.length > 0) throw this.#errors[0];
    return this.#done;
  }

  /** Starts all jobs that fit; none after an error. */
  #startNext() {
    while (this.#errors.length === 0 && !this.#isHeld()) {
      const job = nextJob(this.#waiting, [...this.#running], this.#cores);
      if (job === undefined) return;
      this.#waiting = this.#waiting.filter((each) => each !== job);
      this.#running.add(job);
      this.#begin(this.#perform(job));
    }
  }

  /** True if the machine is slower than the one on which the jobs were measured, or has other work. Some jobs run in any case. */
  #isHeld() {
    const reserved = [...this.#running].reduce((all, job) => all + job.cores, 0);
    return this.#waiting.length > 0 && reserved >= this.#cores / 2 && this.#isOverloaded();
  }

  /** @param {Promise<void>} work */
  #begin(work) {
    const ended = work.catch((error) => void this.#errors.push(error)).finally(() => this.#pending.delete(ended));
    this.#pending.add(ended);
  }

  /** @param {Promise<unknown>} programs for whose jobs it waits */
  async #admit(programs) {
    const admitted = this.#jobs.filter((job) => job.programs === programs);
    try {
      await programs;
    } catch (error) {
      for (const job of admitted) this.#onUnready(job, error);
      return;
    }
    this.#waiting = this.#jobs.filter((job) => this.#waiting.includes(job) || admitted.includes(job));
  }

  /** @param {J} job */
  async #perform(job) {
    const elapsed = () => performance.now() - this.#began;
    const span = { from: elapsed(), ...(this.#last === undefined ? {} : { after: this.#last }) };
    try {
      const result = await this.#work(job);
      this.#done.set(job, { result, span: { ...span, to: elapsed() } });
    } finally {
      this.#last = job.name;
      this.#running.delete(job);
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
