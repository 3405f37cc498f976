// `npm run e2e [-- PART_OF_A_FILE_NAME ...]`: the chart on a whole cluster: installs what that needs, builds the images, runs, tells how long all took.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';

import { ensureBuilds } from './builds.mjs';
import { ensureDependencies } from './dependencies.mjs';
import { ensureGatewayDefinitions } from './gateway-definitions.mjs';
import { ensureImages } from './images.mjs';
import { clusterPrograms, ensureKubernetes } from './kubernetes.mjs';
import { countsLine, jobsOf, sum, testFiles } from './layers.mjs';
import { aptPackages, ensurePackages } from './packages.mjs';
import { childEnvironment, imageArchivesVariable, root, timingsVariable } from './paths.mjs';
import { fail, SetupError } from './steps.mjs';
import { report, runTestFiles, tooFlaky } from './test-files.mjs';

/** Each file has a cluster of several machines: they run one by one. */
const layer = { name: 'e2e', packages: [], cores: 1, testTimeout: 300_000, fileTimeout: 1_200_000 };

const started = performance.now();
try {
  const files = testFiles(join(root, 'test', layer.name), process.argv.slice(2));
  if (files.length === 0) throw new SetupError('No test file of test/e2e has that in its path.');
  const archives = await setUp();
  const folder = mkdtempSync(join(tmpdir(), 'mediarooms-e2e-'));
  try {
    const timings = join(folder, 'timings');
    const prepared = performance.now() - started;
    const env = { ...childEnvironment(), [imageArchivesVariable]: JSON.stringify(archives), [timingsVariable]: timings };
    const outcome = await runTestFiles(jobsOf([{ layer, files }]), env, layer.cores);
    report(outcome);
    console.log(`\n${table(timings, prepared)}`);
    const counts = sum([...outcome.results.values()]);
    console.log(`\n${countsLine(counts)}`);
    if (counts.failed > 0 || tooFlaky(outcome.flaky)) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
} catch (error) {
  fail(error);
}

/** @returns {Promise<string[]>} archives of the images */
async function setUp() {
  if (process.platform !== 'linux') throw new SetupError('The cluster runs on Linux only.', 'run it in a virtual machine');
  if (process.getuid?.() !== 0) throw new SetupError('The cluster needs root: it makes machines of namespaces.', 'sudo npm run e2e');
  await ensureDependencies();
  const { machines, browser, metrics, sip } = aptPackages;
  await ensurePackages([...new Set([...machines, ...browser, ...metrics, ...sip])], 'a whole cluster');
  await ensureKubernetes([...clusterPrograms, 'versitygw']);
  await ensureGatewayDefinitions();
  await ensureBuilds();
  return (await ensureImages()).map(({ archive }) => archive);
}

/**
 * @param {string} file of lines as test/e2e/timings.ts writes them
 * @param {number} prepared how long everything before the tests took, in milliseconds
 * @returns {string}
 */
function table(file, prepared) {
  const told = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  /** @type {{ what: string, value: number, unit: string }[]} */
  const rows = [
    { what: 'packages, programs, images', value: prepared, unit: 'ms' },
    ...told.map((line) => JSON.parse(line)),
    { what: 'everything', value: performance.now() - started, unit: 'ms' },
  ];
  const width = Math.max(...rows.map(({ what }) => what.length));
  const shown = (/** @type {number} */ value, /** @type {string} */ unit) =>
    unit === 'ms' ? `${(value / 1_000).toFixed(1).padStart(7)} s` : `${value.toFixed(0).padStart(7)} ${unit}`;
  return rows.map(({ what, value, unit }) => `${what.padEnd(width)}  ${shown(value, unit)}`).join('\n');
}
