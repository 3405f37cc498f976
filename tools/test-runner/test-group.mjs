// Linux control group of one test file: shares CPU evenly between files, measures their CPU time and finds orphaned processes.

import { existsSync, mkdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join, relative } from 'node:path';

import { cgroups, cpuTimeOf, isUnified } from './machine/cgroup-cpu.mjs';

const [tree = cgroups, ...others] = isUnified ? [cgroups] : ['cpuacct', 'cpu'].map(ownGroup);

let count = 0;

export class TestGroup {
  /** @type {string} folder of the CPU accounting */
  #folder;
  /** @type {readonly string[]} folders of the CPU shares: without shares, a program with `nice` would wait for the other files forever */
  #shares;

  /**
   * @param {string} folder
   * @param {readonly string[]} shares
   */
  constructor(folder, shares) {
    this.#folder = folder;
    this.#shares = shares;
  }

  /** @returns {TestGroup | undefined} undefined if this process must not create one: only root can, on Linux */
  static make() {
    count += 1;
    const name = `tests-of-mediarooms-${process.pid}-${count}`;
    try {
      const folder = join(tree, name);
      mkdirSync(folder);
      const shares = others.map((each) => join(each, name));
      for (const each of shares) mkdirSync(each, { recursive: true });
      return new TestGroup(folder, shares);
    } catch {
      return undefined;
    }
  }

  /** @returns {string[]} the command prefix that runs a program in the group */
  get wrap() {
    const enter = [this.#folder, ...this.#shares].map((folder) => `echo $$ > ${join(folder, 'cgroup.procs')}`);
    return ['sh', '-ec', `${enter.join('; ')}; exec "$@"`, 'sh'];
  }

  /** @returns {number} CPU time of all processes of the group, in milliseconds */
  get computed() {
    return cpuTimeOf(relative(isUnified ? cgroups : join(cgroups, 'cpuacct'), this.#folder));
  }

  /**
   * Kills the remaining processes and removes the group. Idempotent.
   * @returns {string[]} the commands that were still running
   */
  close() {
    if (!existsSync(this.#folder)) return [];
    const left = readFileSync(join(this.#folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
    const commands = left.map(commandOf).filter(Boolean);
    for (const pid of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // The process has already exited.
      }
    }
    // A group can be removed only when it is empty, and the kernel needs time to reap a process.
    for (let tries = 0; tries < 100 && !this.#remove(); tries += 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    return commands;
  }

  #remove() {
    // The accounting folder comes last: it marks the group as present.
    for (const folder of [...this.#shares, this.#folder]) {
      try {
        rmdirSync(folder);
      } catch {
        if (existsSync(folder)) return false;
      }
    }
    return true;
  }
}

/**
 * @param {number} pid
 * @returns {string} e.g. `epmd -daemon`; empty if the process has exited
 */
function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim().slice(0, 200);
  } catch {
    return '';
  }
}

/**
 * The groups of test files are inside the group of this process, so that a limit on it limits them too.
 * @param {string} controller of version 1
 * @returns {string} the folder of this process in the hierarchy of the controller
 */
function ownGroup(controller) {
  const own =
    readFileSync('/proc/self/cgroup', 'utf8').match(new RegExp(`^\\d+:(?:[^:]*,)?${controller}(?:,[^:]*)?:(.*)$`, 'm'))?.[1] ?? '/';
  return join(cgroups, controller, own);
}
