// Load of the machine: how many threads run or wait for a core.

import { readFileSync } from 'node:fs';

const sampleMs = 250;
/** Number of samples: the mean of 5 s. */
const maxSamples = 20;
/** Threads per core above which a machine is overloaded: each of them has less than half a core. */
const maxPerCore = 2;

/** Samples until stop(). */
export class LoadWatch {
  /** @type {number[]} */
  #samples = [];
  #timer;
  #cores;

  /**
   * @param {number} cores
   * @param {() => number} [read] number of threads that run or wait for a core
   */
  constructor(cores, read = runnableThreads) {
    this.#cores = cores;
    this.#timer = setInterval(() => this.#samples.splice(0, this.#samples.push(read()) - maxSamples), sampleMs);
    this.#timer.unref();
  }

  get overloaded() {
    const mean = this.#samples.reduce((sum, each) => sum + each, 0) / this.#samples.length;
    return mean > maxPerCore * this.#cores;
  }

  stop() {
    clearInterval(this.#timer);
  }
}

/** Without the thread that reads it (proc_stat(5): procs_running). */
function runnableThreads() {
  const [, count = '1'] = /^procs_running (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8')) ?? [];
  return Number(count) - 1;
}
