// A lock between processes: a folder, because making one is atomic everywhere, kept fresh while its holder lives.

import { mkdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { SetupError } from './steps.mjs';

/**
 * @typedef {object} LockTimes all in milliseconds
 * @property {number} refresh how often the holder shows that it lives
 * @property {number} stale after how much silence a holder counts as dead
 * @property {number} poll how often a waiter looks
 * @property {number} deadline how long a waiter waits
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
  let told = false;
  while (!take(path)) {
    if (age(path) > stale) {
      rmSync(path, { recursive: true, force: true });
      continue;
    }
    if (Date.now() > giveUp)
      throw new SetupError('Another set-up of Mediarooms has been running for too long.', `end it, or: rm -r ${path}`);
    if (!told) console.error('[setup] waiting for another set-up that is running');
    told = true;
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
      `The cache directory ${dirname(path)} cannot be written (${/** @type {Error} */ (error).message}).`,
      'set XDG_CACHE_HOME to a directory that can be written',
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
 * @returns {number} milliseconds since the holder last showed itself
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
    // Somebody removed the lock by hand; the work goes on.
  }
}
