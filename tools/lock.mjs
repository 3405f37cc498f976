// Lock between processes: a directory, because mkdir is atomic on every system; its owner renews it while it lives.

import { mkdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { SetupError } from './steps.mjs';

/**
 * @typedef {object} LockTimes all in milliseconds
 * @property {number} refresh heartbeat interval of the owner
 * @property {number} stale age of the last heartbeat after which the owner counts as dead
 * @property {number} poll poll interval of a waiter
 * @property {number} deadline timeout of a waiter
 */

/** @type {LockTimes} */
const usual = { refresh: 2_000, stale: 15_000, poll: 200, deadline: 1_200_000 };

/**
 * Runs `work` while no other process holds the lock at `path`.
 * @template T
 * @param {string} path
 * @param {() => Promise<T>} work
 * @param {Partial<LockTimes>} [times]
 * @returns {Promise<T>}
 */
export async function withLock(path, work, times = {}) {
  const { refresh, stale, poll, deadline } = { ...usual, ...times };
  makeParent(path);
  const giveUp = Date.now() + deadline;
  let reported = false;
  while (!take(path)) {
    if (age(path) > stale) {
      rmSync(path, { recursive: true, force: true });
      continue;
    }
    if (Date.now() > giveUp) throw new SetupError('Timed out waiting for another setup of Mediarooms.', `stop it, or: rm -r ${path}`);
    if (!reported) console.error('[setup] waiting for another setup process');
    reported = true;
    await sleep(poll);
  }
  const timer = setInterval(() => touch(path), refresh);
  const release = () => rmSync(path, { recursive: true, force: true });
  process.on('exit', release);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    process.off('exit', release);
    release();
  }
}

/** @param {string} path */
function makeParent(path) {
  try {
    mkdirSync(dirname(path), { recursive: true });
  } catch (error) {
    throw new SetupError(
      `The cache directory ${dirname(path)} is not writable (${/** @type {Error} */ (error).message}).`,
      'set XDG_CACHE_HOME to a writable directory',
    );
  }
}

/** @param {string} path */
function take(path) {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * @param {string} path
 * @returns {number} milliseconds since the last heartbeat of the owner
 */
function age(path) {
  try {
    return Date.now() - statSync(path).mtimeMs;
  } catch {
    return 0;
  }
}

/** @param {string} path */
function touch(path) {
  try {
    const now = new Date();
    utimesSync(path, now, now);
  } catch {
    // The lock was removed by hand; the work continues.
  }
}
