// Test batches: groups the short test files of a layer, so that one process runs many of them.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { root } from '../paths.mjs';
import { nameOf } from './layers.mjs';

/** @typedef {import('./layers.mjs').TestJob} TestJob */

/** Runs the files of a batch. */
const batchRunner = join(root, 'tools', 'test-runner', 'test-batch.mjs');

/** Hooks outside of a suite would be hooks of all files of a batch. */
const fileHooks = /^(?:before|after)(?:Each)?\(|\(\{ ?(?:before|after)\b[^}]*\}\)/m;

/**
 * @param {readonly TestJob[]} jobs in their order of start
 * @returns {TestJob[]} the same, with batches in place of the files of layers that have batches; a batch has neighbors, which load the same
 */
export function withBatches(jobs) {
  /** @type {Map<string, TestJob[]>} */
  const groups = new Map();
  const apart = jobs.filter((job) => {
    if (job.layer.batch === undefined || !canShare(job, job.layer.batch)) return true;
    const key = `${job.layer.name} ${job.ownNetwork}`;
    groups.set(key, [...(groups.get(key) ?? []), job]);
    return false;
  });
  const batches = [...groups.values()].flatMap((group) => chunks(group, group[0]?.layer.batch?.files ?? 1).map(batchOf));
  // Batches are longer than the other files of their layers.
  const at = apart.findIndex(({ layer }) => layer.batch !== undefined);
  return at === -1 ? [...apart, ...batches] : [...apart.slice(0, at), ...batches, ...apart.slice(at)];
}

/**
 * @param {TestJob} job
 * @param {NonNullable<import('./layers.mjs').Layer['batch']>} batch
 */
function canShare({ file, layer }, { apart }) {
  return !apart.includes(nameOf(layer, file)) && !fileHooks.test(readFileSync(file, 'utf8'));
}

/**
 * @template T
 * @param {readonly T[]} all
 * @param {number} most
 * @returns {T[][]} about equally many each
 */
function chunks(all, most) {
  const count = Math.ceil(all.length / most);
  return Array.from({ length: count }, (_, index) => all.slice((index * all.length) / count, ((index + 1) * all.length) / count));
}

/**
 * @param {TestJob[]} jobs
 * @returns {TestJob}
 */
function batchOf(jobs) {
  const [first] = jobs;
  if (first === undefined) throw new Error('a batch has files');
  if (jobs.length === 1) return first;
  return { ...first, name: `${first.name} and ${jobs.length - 1} more`, file: batchRunner, batch: jobs };
}
