// The processes of one test file as a control group of Linux: how much they computed together, and which of them it left behind.

import { existsSync, mkdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

const top = '/sys/fs/cgroup';
/** Version 2 of control groups has one tree, version 1 one for each controller. */
const isUnified = existsSync(join(top, 'cgroup.controllers'));
const tree = isUnified ? top : join(top, 'cpuacct');

let count = 0;

export class TestGroup {
  /** @type {string} */
  #folder;

  /** @param {string} folder */
  constructor(folder) {
    this.#folder = folder;
  }

  /** @returns {TestGroup | undefined} undefined where this process may make none: only root may, on Linux */
  static make() {
    count += 1;
    const folder = join(tree, `tests-of-mediarooms-${process.pid}-${count}`);
    try {
      mkdirSync(folder);
      return new TestGroup(folder);
    } catch {
      return undefined;
    }
  }

  /** @returns {string[]} what a command begins with to run in the group */
  get wrap() {
    return ['sh', '-ec', 'echo $$ > "$0"; exec "$@"', join(this.#folder, 'cgroup.procs')];
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
    try {
      rmdirSync(this.#folder);
      return true;
    } catch {
      return !existsSync(this.#folder);
    }
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
