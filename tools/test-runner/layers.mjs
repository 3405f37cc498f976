// Test layers: the requirements of each layer and the cores that its files use. Reads folders only to find test files.

import { existsSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

import { controlPlanePrograms } from '../kubernetes/kubernetes.mjs';
import { aptPackages } from '../packages.mjs';
import { root } from '../paths.mjs';
import { Reach } from './reach.mjs';

/** Parts of the kit that create network devices, and that which starts nodes as a user does: each serves EPMD at its fixed port. */
const networkKits = ['network/network-namespace.ts', 'kube/cluster/cluster.ts', 'processes/node-process.ts'].map((part) =>
  join(root, 'test', 'kit', part),
);
/**
 * Matches tests that need fixed ports. Cluster nodes share the EPMD of a network, and its owner takes all names with it when it exits; nodes
 * with the environment of a pod have its ports, which another node on this computer may use; and a media worker that is killed needs its own
 * port again, which is the first free one for a node that starts meanwhile.
 */
const needsFixedPorts = /SVC_DIST_ENABLED|defaultEpmdPort|\bcontainerEnvironment\b|\bworkers\(\)|\bpidOf\(/;

/**
 * @typedef {object} Layer
 * @property {string} name the folder under test/
 * @property {boolean} [worker] requires the mediasoup worker
 * @property {boolean} [builds] requires the built client library and console
 * @property {boolean} [operator] requires the built operator
 * @property {boolean} [runtimes] uses Deno and Bun if they can be installed
 * @property {readonly string[]} packages Debian packages
 * @property {readonly import('../kubernetes/versions.mjs').KubernetesProgram[]} [programs] programs of Kubernetes, and an S3 server
 * @property {readonly string[]} [goPrograms] files that run examples in Go
 * @property {number} cores cores that a file keeps busy on average; the summary of a run has the measured value
 * @property {Readonly<Record<string, number>>} [heavy] measured cores of files that use more; about twice as many if they measure time
 * @property {Readonly<Record<string, number>>} [light] measured cores of files that take half a minute or more and wait most of the time
 * @property {{ files: number, timeout: number, apart: readonly string[] }} [batch] number of files that run in one process, their timeout in
 *   milliseconds, and the files that run alone
 * @property {readonly string[]} [first] the slowest files: started last, they would run alone at the end
 * @property {number} testTimeout of one test, in milliseconds
 * @property {number} fileTimeout of one file, in milliseconds
 */

/** @type {readonly Layer[]} in the order of the table */
export const layers = [
  { name: 'house', packages: [], cores: 1, testTimeout: 30_000, fileTimeout: 60_000 },
  {
    name: 'unit',
    packages: [],
    cores: 0.24,
    batch: {
      files: 20,
      timeout: 300_000,
      // They watch processes that they start, and take long.
      apart: ['components/process/component-process', 'tools/test-files'],
    },
    testTimeout: 30_000,
    // Each fuzz test sends a tenth of the packets, in 10 ms each at most.
    fileTimeout: 120_000 + 2 * Number(process.env.FUZZ_PACKETS ?? 0),
  },
  { name: 'contract', worker: true, runtimes: true, packages: [], cores: 0.36, testTimeout: 60_000, fileTimeout: 300_000 },
  {
    name: 'media',
    worker: true,
    packages: [...aptPackages.metrics, ...aptPackages.media, ...aptPackages.sip, ...aptPackages.signers],
    programs: ['versitygw'],
    goPrograms: ['go-client', 'whip', 'whep'],
    // Media runs in real time: each file waits most of the time.
    cores: 0.26,
    heavy: { 'call-audio': 0.6, hls: 1, 'hls-composer': 1, leaks: 1 },
    light: { node: 0.15, prometheus: 0.15, 's3-recording': 0.2, 'sip-signalling': 0.1, 'worker-pool': 0.15 },
    first: ['churn', 'sip-signalling', 's3-recording', 'sip-component'],
    testTimeout: 90_000,
    fileTimeout: 600_000,
  },
  {
    name: 'hostile',
    worker: true,
    packages: [...aptPackages.media, ...aptPackages.sip, ...aptPackages.relay],
    programs: ['versitygw'],
    // Each file attacks a separate node and checks that another room of that node is not affected.
    cores: 0.4,
    heavy: { components: 0.8, guest: 0.8 },
    testTimeout: 90_000,
    fileTimeout: 300_000,
  },
  {
    name: 'cluster',
    worker: true,
    packages: [...aptPackages.cluster, ...aptPackages.networks],
    cores: 0.45,
    testTimeout: 120_000,
    fileTimeout: 600_000,
  },
  {
    name: 'kubernetes',
    worker: true,
    operator: true,
    packages: [...aptPackages.browser, ...aptPackages.metrics, ...aptPackages.gitops],
    programs: [...controlPlanePrograms, 'helm', 'versitygw'],
    // These files wait for leases, probes and lost hosts most of the time.
    cores: 0.35,
    // Real-time video, and Leases of one second: both expire on a busy machine, which is correct.
    heavy: { 'example-class': 1, 'operator-killed': 1 },
    light: {
      'clusters-hot': 0.3,
      'clusters-outage': 0.3,
      'clusters-start': 0.3,
      'kube-lease': 0.25,
      'kube-outages': 0.2,
      'operator-claims': 0.25,
      'operator-namespaces': 0.2,
      'operator-outages': 0.2,
      'operator-uninstall': 0.3,
      'rooms-loss': 0.25,
      'rooms-operators': 0.25,
    },
    first: ['clusters-hosts', 'clusters-scale', 'rooms-loss', 'operator-outages', 'kube-outages'],
    testTimeout: 300_000,
    fileTimeout: 1_200_000,
  },
  {
    name: 'browser',
    worker: true,
    builds: true,
    packages: [...aptPackages.browser, ...aptPackages.firefox, ...aptPackages.networks, ...aptPackages.sip],
    programs: ['versitygw'],
    cores: 0.45,
    // The latency of a stream that is composed, encoded and played; media of processes that lose it if they run late; calls of LiveKit's
    // clients, which end attempts after 15 s; a browser that estimates its uplink.
    heavy: { hls: 1.5, 'livekit-firefox': 1.5, 'livekit-native': 1, 'livekit-reconnect': 1.5, 'move-thin-uplink': 1.2 },
    light: {
      'client-reconnect': 0.35,
      'console-recordings': 0.3,
      'console-recovery': 0.25,
      'console-room-trouble': 0.35,
      'console-rooms': 0.35,
      'console-webhooks': 0.3,
      'guest-check': 0.35,
      'node-loss': 0.4,
    },
    first: ['console-watch-trouble', 'console-recordings', 'console-recovery', 'guest-check'],
    testTimeout: 180_000,
    fileTimeout: 900_000,
  },
];

/**
 * Layer of `npm run e2e`. Each file runs a cluster of several machines, which waits as much as it computes.
 * @type {Layer}
 */
export const endToEnd = {
  name: 'e2e',
  packages: [],
  cores: 1,
  first: ['outages', 'upgrade'],
  testTimeout: 300_000,
  fileTimeout: 1_200_000,
};

/**
 * Splits the arguments of `npm test -- ...` into layers and parts of file names.
 * @param {readonly string[]} args
 * @returns {{ chosen: readonly Layer[], filters: string[] }} all layers if none is named
 */
export function chooseLayers(args) {
  const named = layers.filter((layer) => args.includes(layer.name));
  const filters = args.filter((arg) => !layers.some((layer) => layer.name === arg));
  return { chosen: named.length > 0 ? named : layers, filters };
}

/**
 * @param {string} folder
 * @param {readonly string[]} filters parts of paths in the repository; a file matches if its path contains one of them
 * @returns {string[]} its test files, including subfolders, sorted
 */
export function testFiles(folder, filters) {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : testFiles(path, filters);
    const counts =
      entry.name.endsWith('.test.ts') && (filters.length === 0 || filters.some((filter) => relative(root, path).includes(filter)));
    return counts ? [path] : [];
  });
  return files.sort();
}

/**
 * @param {Layer} layer
 * @param {string} file
 * @returns {string} its name within the layer, as used in `heavy`, `light`, `first` and `goPrograms`
 */
export function nameOf(layer, file) {
  return relative(join(root, 'test', layer.name), file).replace(/\.test\.ts$/, '');
}

/**
 * @typedef {object} TestJob a test file with its requirements
 * @property {string} name e.g. `unit/tools/layers`
 * @property {string} file absolute path
 * @property {Layer} layer
 * @property {number} cores cores that it keeps busy on average
 * @property {boolean} [ownNetwork] true if it creates network devices, starts node processes or needs fixed ports
 * @property {readonly TestJob[]} [batch] files that run one after the other in one process
 */

/**
 * @param {readonly { layer: Layer, files: readonly string[] }[]} plan
 * @returns {TestJob[]} in order of start: house, then files that are hard to schedule (heavy or slow), then the other layers; the layer
 *   of the shortest files comes last because they fill every gap. The heaviest files come first: for a later one, cores would be idle
 *   until enough of them are free
 */
export function jobsOf(plan) {
  const reach = new Reach();
  const jobs = plan.flatMap(({ layer, files }) =>
    files.map((file) => {
      const own = nameOf(layer, file);
      const reached = reach.of(file);
      const needsNetwork = networkKits.some((kit) => reached.has(kit));
      const ownNetwork = layer.name === 'cluster' || needsNetwork || reach.mentions(file, join(root, 'test'), needsFixedPorts);
      return { name: `${layer.name}/${own}`, file, layer, cores: layer.heavy?.[own] ?? layer.light?.[own] ?? layer.cores, ownNetwork };
    }),
  );
  const turn = (/** @type {TestJob} */ { file, layer, cores }) => {
    if (layer.name === 'house') return 0;
    if (cores > layer.cores) return 1;
    return layer.first?.includes(nameOf(layer, file)) ? 2 : 3 + layers.length - layers.indexOf(layer);
  };
  const heaviness = (/** @type {TestJob} */ job) => (turn(job) === 1 ? job.cores : 0);
  return jobs.sort((one, other) => turn(one) - turn(other) || heaviness(other) - heaviness(one));
}

/**
 * @typedef {{ passed: number, failed: number, skipped: number }} Counts
 * @typedef {Counts & { name: string, milliseconds: number, computed?: number, note?: string }} Row milliseconds: sum over the files;
 *   computed: CPU time, NaN if it cannot be measured
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
 * Summary of a run: a table, then the line that other programs parse.
 * @param {readonly Row[]} rows
 * @returns {string}
 */
export function summary(rows) {
  const header = ['layer', 'passed', 'failed', 'skipped', 'seconds', 'cores', ''];
  const cells = rows.map(({ name, passed, failed, skipped, milliseconds, computed, note }) => [
    name,
    passed,
    failed,
    skipped,
    (milliseconds / 1000).toFixed(1),
    computed === undefined || Number.isNaN(computed) ? '' : (computed / milliseconds).toFixed(2),
    note ?? '',
  ]);
  const table = [header, ...cells].map(([name, ...rest]) => {
    const note = rest.pop();
    return `${String(name).padEnd(12)}${rest.map((cell) => String(cell).padStart(9)).join('')}  ${note}`.trimEnd();
  });
  return `${table.join('\n')}\n\n${countsLine(sum(rows))}`;
}

/**
 * @param {Counts} counts
 * @returns {string} the line that other programs parse
 */
function countsLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}
