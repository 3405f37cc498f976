// The processes of one test file as a control group of Linux: they share processors evenly with other files, and it tells how much they computed
// together and which of them were left behind.

import { existsSync, mkdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

const top = '/sys/fs/cgroup';
/** Version 2 of control groups has one tree, version 1 one for each controller, or for several: names of the same folder. */
const isUnified = existsSync(join(top, 'cgroup.controllers'));
const [tree, ...others] = isUnified ? [top] : ['cpuacct', 'cpu'].map((controller) => join(top, controller));

let count = 0;

export class TestGroup {
  /** @type {string} of what is counted */
  #folder;
  /** @type {readonly string[]} of what is shared: without it, what yields to everything (`nice`) waits for the other files for ever */
  #shares;

  /**
   * @param {string} folder
   * @param {readonly string[]} shares
   */
  constructor(folder, shares) {
    this.#folder = folder;
    this.#shares = shares;
  }

  /** @returns {TestGroup | undefined} undefined where this process may make none: only root may, on Linux */
  static make() {
    count += 1;
    const name = `tests-of-mediarooms-${process.pid}-${count}`;
    try {
      const folder = join(tree ?? top, name);
      mkdirSync(folder);
      const shares = others.map((each) => join(each, name));
      for (const each of shares) mkdirSync(each, { recursive: true });
      return new TestGroup(folder, shares);
    } catch {
      return undefined;
    }
  }

  /** @returns {string[]} what a command begins with to run in the group */
  get wrap() {
    const enter = [this.#folder, ...this.#shares].map((folder) => `echo $$ > ${join(folder, 'cgroup.procs')}`);
    return ['sh', '-ec', `${enter.join('; ')}; exec "$@"`, 'sh'];
  }

  /** @returns {number} processor time of all that ran in the group, in milliseconds */
  get computed() {
    if (!isUnified) return Number(this.#read('cpuacct.usage')) / 1e6;
    return Number(/^usage_usec (\d+)$/m.exec(this.#read('cpu.stat'))?.[1]) / 1e3;
  }

  /**
   * Ends what is left and removes the group. Idempotent.
   * @returns {string[]} the commands that were still running
   */
  close() {
    if (!existsSync(this.#folder)) return [];
    const left = this.#read('cgroup.procs').split('\n').filter(Boolean).map(Number);
    const commands = left.map(commandOf).filter(Boolean);
    for (const pid of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
    }
    // A group is removed only once it is empty, and the kernel takes its time to bury a process.
    for (let tries = 0; tries < 100 && !this.#remove(); tries += 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    return commands;
  }

  #remove() {
    // What is counted last: it says whether there is a group.
    for (const folder of [...this.#shares, this.#folder]) {
      try {
        rmdirSync(folder);
      } catch {
        if (existsSync(folder)) return false;
      }
    }
    return true;
  }

  /** @param {string} file */
  #read(file) {
    return readFileSync(join(this.#folder, file), 'utf8').trim();
  }
}

/**
 * @param {number} pid
 * @returns {string} e.g. `epmd -daemon`; empty when it has ended
 */
function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim().slice(0, 200);
  } catch {
    return '';
  }
}
