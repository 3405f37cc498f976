// The layers of tests: what each needs and how it is run. Pure but for looking for test files.

import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

import { controlPlanePrograms } from './kubernetes.mjs';
import { aptPackages } from './packages.mjs';

/**
 * @typedef {object} Layer
 * @property {string} name the folder under test/
 * @property {boolean} worker needs the mediasoup worker
 * @property {boolean} builds needs the built client library and console
 * @property {boolean} [runtimes] needs Deno and Bun, where they can be had
 * @property {readonly string[]} packages of the distribution
 * @property {readonly import('./kubernetes-versions.mjs').KubernetesProgram[]} [programs] of Kubernetes, and an S3 server
 * @property {number} concurrency test files at once
 * @property {readonly string[]} [first] files that take longest: begun last, they would run on alone
 * @property {readonly string[]} [alone] files that run one by one after the others: they measure, or take or change what others could use
 * @property {number} testTimeout of one test, in milliseconds
 * @property {number} fileTimeout of one file, in milliseconds
 */

/** @type {readonly Layer[]} in the order in which `npm test` runs them: cheap and telling first */
export const layers = [
  { name: 'house', worker: false, builds: false, packages: [], concurrency: 2, testTimeout: 30_000, fileTimeout: 60_000 },
  { name: 'unit', worker: false, builds: false, packages: [], concurrency: 4, testTimeout: 30_000, fileTimeout: 120_000 },
  {
    name: 'contract',
    worker: true,
    builds: false,
    runtimes: true,
    packages: [],
    concurrency: 2,
    testTimeout: 60_000,
    fileTimeout: 300_000,
  },
  {
    name: 'media',
    worker: true,
    builds: false,
    packages: [...aptPackages.metrics, ...aptPackages.media, ...aptPackages.sip],
    programs: ['versitygw'],
    // Media is made in real time: each waits most of the time.
    concurrency: 3,
    first: ['churn', 'sip-signalling', 'recording-tracks', 's3-recording', 'sip-component'],
    alone: ['call-sound', 'engine', 'hls', 'hls-composer', 'leaks', 'room-leaks'],
    testTimeout: 90_000,
    fileTimeout: 600_000,
  },
  {
    name: 'hostile',
    worker: true,
    builds: false,
    packages: [...aptPackages.media, ...aptPackages.sip, ...aptPackages.relay],
    programs: ['versitygw'],
    // Each attacks a node of its own, and looks how another room of that node fares.
    concurrency: 2,
    first: ['mutated-packets', 'media-worker'],
    // They take all of a core.
    alone: ['components', 'guest'],
    testTimeout: 90_000,
    fileTimeout: 300_000,
  },
  {
    name: 'cluster',
    worker: true,
    builds: false,
    packages: [...aptPackages.cluster, ...aptPackages.networks],
    concurrency: 2,
    testTimeout: 120_000,
    fileTimeout: 600_000,
  },
  {
    name: 'kubernetes',
    worker: true,
    builds: false,
    packages: aptPackages.browser,
    programs: [...controlPlanePrograms, 'helm', 'versitygw'],
    // They wait for leases, probes and lost hosts most of the time.
    concurrency: 2,
    first: ['clusters-scale', 'clusters-hosts', 'operator-outages', 'kit', 'kube-outages'],
    // Pictures in real time, and Leases of a second: a busy machine rightly loses both.
    alone: ['example-class', 'operator-killed'],
    testTimeout: 300_000,
    fileTimeout: 1_200_000,
  },
  {
    name: 'browser',
    worker: true,
    builds: true,
    packages: [...aptPackages.browser, ...aptPackages.networks],
    programs: ['versitygw'],
    concurrency: 2,
    first: ['guest', 'console-recordings', 'console-watch-trouble'],
    // Also those that make network devices: whatever another Chromium loads at that moment would fail (ERR_NETWORK_CHANGED).
    alone: ['examples-react', 'guest-check', 'hls', 'network-cuts', 'node-loss', 'turn', 'worker-death', 'wrong-node'],
    testTimeout: 180_000,
    fileTimeout: 900_000,
  },
];

/**
 * Splits the arguments of `npm test -- ...` into layers and parts of file names.
 * @param {readonly string[]} args
 * @returns {{ chosen: readonly Layer[], filters: string[] }} no layer named: all
 */
export function chooseLayers(args) {
  const named = layers.filter((layer) => args.includes(layer.name));
  const filters = args.filter((arg) => !layers.some((layer) => layer.name === arg));
  return { chosen: named.length > 0 ? named : layers, filters };
}

/**
 * @param {string} folder
 * @param {readonly string[]} filters parts of paths; a file counts when it has one of them
 * @returns {string[]} its test files, all folders below included, in order
 */
export function testFiles(folder, filters) {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : testFiles(path, filters);
    const counts = entry.name.endsWith('.test.ts') && (filters.length === 0 || filters.some((filter) => path.includes(filter)));
    return counts ? [path] : [];
  });
  return files.sort();
}

/**
 * @param {Pick<Layer, 'concurrency' | 'first' | 'alone'>} layer
 * @param {readonly string[]} files
 * @returns {{ concurrency: number, files: string[] }[]} what runs together, one after the other; none is empty
 */
export function batches({ concurrency, first = [], alone = [] }, files) {
  const among = (/** @type {readonly string[]} */ names) => files.filter((file) => names.includes(basename(file, '.test.ts')));
  const [begin, end] = [among(first), among(alone)];
  const between = files.filter((file) => !begin.includes(file) && !end.includes(file));
  return [
    { concurrency, files: [...begin, ...between] },
    { concurrency: 1, files: end },
  ].filter((batch) => batch.files.length > 0);
}

/**
 * @typedef {{ passed: number, failed: number, skipped: number }} Counts
 * @typedef {Counts & { name: string, milliseconds: number, cores?: number, note?: string }} Row cores: how many were busy on average
 */

/**
 * @param {readonly Counts[]} rows
 * @returns {Counts}
 */
export function sum(rows) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const row of rows) {
    total.passed += row.passed;
    total.failed += row.failed;
    total.skipped += row.skipped;
  }
  return total;
}

/**
 * Where the time of a layer goes.
 * @param {Record<string, number>} files milliseconds that each took
 * @returns {string} the ten that took longest, in seconds, e.g. `engine 61, leaks 33`
 */
export function slowest(files) {
  return Object.entries(files)
    .sort(([, one], [, other]) => other - one)
    .slice(0, 10)
    .map(([file, milliseconds]) => `${basename(file, '.test.ts')} ${Math.round(milliseconds / 1000)}`)
    .join(', ');
}

/**
 * The end of a run: a table, then the one line that others read.
 * @param {readonly Row[]} rows
 * @returns {string}
 */
export function summary(rows) {
  const header = ['layer', 'passed', 'failed', 'skipped', 'seconds', 'cores', ''];
  const cells = rows.map((row) => [
    row.name,
    row.passed,
    row.failed,
    row.skipped,
    (row.milliseconds / 1000).toFixed(1),
    row.cores?.toFixed(1) ?? '',
    row.note ?? '',
  ]);
  const table = [header, ...cells].map(([name, ...rest]) => {
    const note = rest.pop();
    return `${String(name).padEnd(12)}${rest.map((cell) => String(cell).padStart(9)).join('')}  ${note}`.trimEnd();
  });
  const { passed, failed, skipped } = sum(rows);
  return `${table.join('\n')}\n\n${passed} passed, ${failed} failed, ${skipped} skipped`;
}
