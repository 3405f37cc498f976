// `npm run e2e [-- PART_OF_A_FILE_NAME ...]`: tests the chart on a whole cluster: installs dependencies, builds images, prints timings.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';

import { ensureBuilds } from '../builds.mjs';
import { ensureDependencies } from '../dependencies.mjs';
import { ensureImages } from '../images/images.mjs';
import { clusterPrograms, ensureKubernetes } from '../kubernetes/kubernetes.mjs';
import { ensureRouteDefinitions } from '../kubernetes/route-definitions.mjs';
import { ensureAgentImage } from '../livekit/agent-image.mjs';
import { aptPackages, ensurePackages } from '../packages.mjs';
import { childEnvironment, imageArchivesVariable, root, timingsVariable } from '../paths.mjs';
import { fail, SetupError, seconds } from '../steps.mjs';
import { ensureGoPrograms } from './go-programs.mjs';
import { endToEnd, jobsOf, summary, testFiles } from './layers.mjs';
import { report, rowOf, runTestFiles, tooFlaky } from './test-files.mjs';

/** Clusters in parallel: each uses 18 of the 128 inotify instances that Linux allows a user, and 1.5 GB of memory. */
const maxConcurrent = 4;

const started = performance.now();
try {
  const files = testFiles(join(root, 'test', endToEnd.name), process.argv.slice(2));
  if (files.length === 0) throw new SetupError('No test file path in test/e2e matches.');
  const archives = await setUp();
  const folder = mkdtempSync(join(tmpdir(), 'mediarooms-e2e-'));
  try {
    const timings = join(folder, 'timings');
    const prepared = performance.now() - started;
    const env = { ...childEnvironment(), [imageArchivesVariable]: JSON.stringify(archives), [timingsVariable]: timings };
    const outcome = await runTestFiles(jobsOf([{ layer: endToEnd, files }]), env, Math.min(availableParallelism(), maxConcurrent));
    report(outcome);
    console.log(`\n${table(timings, prepared)}`);
    console.log(`\ncritical path: ${outcome.path}`);
    console.log(`total time with setup: ${seconds(performance.now() - started)}`);
    const row = rowOf(endToEnd, outcome.results);
    console.log(`\n${summary([row])}`);
    if (row.failed > 0 || tooFlaky(outcome.flaky)) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
} catch (error) {
  fail(error);
}

/** @returns {Promise<string[]>} archives of the images */
async function setUp() {
  if (process.platform !== 'linux') throw new SetupError('The cluster runs on Linux only.', 'run it in a virtual machine');
  if (process.getuid?.() !== 0) throw new SetupError('The cluster requires root: its machines are Linux namespaces.', 'sudo npm run e2e');
  await ensureDependencies();
  const { machines, browser, metrics, sip } = aptPackages;
  await ensurePackages([...new Set([...machines, ...browser, ...metrics, ...sip])], 'a whole cluster');
  await ensureKubernetes([...clusterPrograms, 'versitygw']);
  await ensureRouteDefinitions();
  await ensureGoPrograms();
  await ensureBuilds();
  const built = await ensureImages();
  await ensureAgentImage();
  return built.map(({ archive }) => archive);
}

/**
 * @param {string} path file with lines as written by test/e2e/timings.ts
 * @param {number} prepared duration of everything before the tests, in milliseconds
 * @returns {string} sorted by test file, because lines of parallel files are interleaved
 */
function table(path, prepared) {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
  /** @type {{ file: string, what: string, value: number, unit: string }[]} */
  const rows = [
    { file: '', what: 'packages, programs, images', value: prepared, unit: 'ms' },
    ...lines.map((line) => JSON.parse(line)).sort((one, other) => one.file.localeCompare(other.file)),
  ];
  const [files, names] = [Math.max(...rows.map(({ file }) => file.length)), Math.max(...rows.map(({ what }) => what.length))];
  const shown = (/** @type {number} */ value, /** @type {string} */ unit) =>
    unit === 'ms' ? `${(value / 1_000).toFixed(1).padStart(7)} s` : `${value.toFixed(0).padStart(7)} ${unit}`;
  return rows.map(({ file, what, value, unit }) => `${file.padEnd(files)}  ${what.padEnd(names)}  ${shown(value, unit)}`).join('\n');
}
