// Finds the mediasoup worker for this machine, or gets one: mediasoup's own, our cache, the prebuilt download, a build.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { release } from 'node:os';
import { dirname, join } from 'node:path';

import { withLock } from './lock.mjs';
import { aptPackages, ensurePackages } from './packages.mjs';
import { cacheDirectory, nodeModules, pinnedNode } from './paths.mjs';
import { run, SetupError, step } from './steps.mjs';
import { buildWorker } from './worker-build.mjs';

const binaryName = 'mediasoup-worker';
// What the worker answers when it is started by hand: "you don't seem to be my real father" (its main.cpp).
const startedByHand = 41;
const downloadDeadline = 60_000;

/**
 * @typedef {object} Machine
 * @property {string} version mediasoup's
 * @property {NodeJS.Platform} platform
 * @property {string} arch
 * @property {string} osRelease content of /etc/os-release, empty where there is none
 */

/**
 * Where a worker for such a machine is kept, under the cache directory.
 * @param {Machine} machine
 * @returns {string} e.g. `3.27.1-debian12-x64`
 */
export function workerKey({ version, platform, arch, osRelease }) {
  /** @param {string} name */
  const field = (name) => (new RegExp(`^${name}=["']?([^"'\\n]*)`, 'm').exec(osRelease)?.[1] ?? '').replace(/[^\w.-]/g, '');
  // A rolling distribution has no version: its libraries may change under the cached worker, which is why it is tried before use.
  const system = platform === 'linux' ? `${field('ID') || 'linux'}${field('VERSION_ID')}` : platform;
  return `${version}-${system}-${arch}`;
}

/**
 * The address of mediasoup's own prebuilt worker, as its npm-scripts.mjs makes it.
 * @param {Machine & { kernel: string }} machine kernel: as `uname -r` prints it
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} undefined when the user forbade the download
 */
export function prebuiltUrl({ version, platform, arch, kernel }, env) {
  if (env.MEDIASOUP_SKIP_WORKER_PREBUILT_DOWNLOAD) return undefined;
  const base = env.MEDIASOUP_WORKER_PREBUILT_DOWNLOAD_BASE_URL || 'https://github.com/versatica/mediasoup/releases/download';
  const suffix = platform === 'linux' ? `-kernel${Number.parseInt(kernel, 10)}` : '';
  return `${base}/${version}/${binaryName}-${version}-${platform}-${arch}${suffix}.tgz`;
}

/**
 * Chooses among the workers that are there, best first.
 * @param {{ given?: string, installed: string, cached: string }} places given: MEDIASOUP_WORKER_BIN; installed: in node_modules
 * @param {(path: string) => boolean} exists
 * @returns {{ source: 'given' | 'installed' | 'cached', path: string } | undefined} undefined: one must be got
 */
export function chooseWorker({ given, installed, cached }, exists) {
  if (given) return { source: 'given', path: given };
  if (exists(installed)) return { source: 'installed', path: installed };
  if (exists(cached)) return { source: 'cached', path: cached };
  return undefined;
}

/** @returns {Machine & { kernel: string }} */
function thisMachine() {
  const { version } = JSON.parse(readFileSync(join(nodeModules, 'mediasoup', 'package.json'), 'utf8'));
  const osRelease = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  return { version, platform: process.platform, arch: process.arch, osRelease, kernel: release() };
}

/** @param {Machine} machine */
function places(machine) {
  return {
    given: process.env.MEDIASOUP_WORKER_BIN,
    installed: join(nodeModules, 'mediasoup', 'worker', 'out', 'Release', binaryName),
    cached: join(cacheDirectory(), 'worker', workerKey(machine), binaryName),
  };
}

/**
 * The mediasoup worker that is there for this machine, without getting one. Mediasoup is told by MEDIASOUP_WORKER_BIN.
 * @returns {string | undefined} its path; undefined when `npm start` or `npm test` has not got one yet
 */
export function findWorker() {
  if (!existsSync(join(nodeModules, 'mediasoup', 'package.json'))) return process.env.MEDIASOUP_WORKER_BIN || undefined;
  return chooseWorker(places(thisMachine()), existsSync)?.path;
}

/**
 * Whether a worker starts on this machine, its libraries included.
 * @param {string} path
 * @returns {boolean}
 */
export function workerRuns(path) {
  return spawnSync(path, [], { env: {}, stdio: 'ignore', timeout: 10_000 }).status === startedByHand;
}

/**
 * Finds a worker that runs here, or gets one into the cache.
 * @returns {Promise<string>} its path
 * @throws {SetupError}
 */
export async function ensureWorker() {
  const machine = thisMachine();
  const known = places(machine);
  const found = chooseWorker(known, existsSync);
  if (found && workerRuns(found.path)) return found.path;
  if (found?.source === 'given') {
    throw new SetupError(
      `MEDIASOUP_WORKER_BIN is ${found.path}, which is no mediasoup worker that runs here.`,
      'unset MEDIASOUP_WORKER_BIN',
    );
  }
  const folder = dirname(known.cached);
  return withLock(join(cacheDirectory(), 'locks', `worker-${workerKey(machine)}`), async () => {
    if (existsSync(known.cached)) {
      if (workerRuns(known.cached)) return known.cached;
      // The cache may come from another machine of the same distribution that has the libraries.
      await ensurePackages(aptPackages.worker, 'the mediasoup worker');
      if (workerRuns(known.cached)) return known.cached;
    }
    // We hold the lock, so what is left in there is of a build that was killed.
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    if (await download(machine, known.cached)) return known.cached;
    await ensurePackages(aptPackages.worker, 'building the mediasoup worker');
    await buildWorker(machine.version, known.cached);
    if (workerRuns(known.cached)) return known.cached;
    throw new SetupError(`The mediasoup worker was built, but ${known.cached} does not run.`, `rm -r ${folder}`);
  });
}

/**
 * @param {Machine & { kernel: string }} machine
 * @param {string} target
 * @returns {Promise<boolean>} false: no prebuilt worker can be had or runs here
 */
async function download(machine, target) {
  const url = prebuiltUrl(machine, process.env);
  if (!url) return false;
  return step('looking for a prebuilt mediasoup worker', async () => {
    const script = join(dirname(new URL(import.meta.url).pathname), 'worker-download.mjs');
    // On the pinned Node.js, which honours HTTPS_PROXY when asked to.
    const { code, output } = await run(pinnedNode, [script, url, target], {
      env: { ...process.env, NODE_USE_ENV_PROXY: '1' },
      deadline: downloadDeadline,
    });
    if (code === 0) return true;
    console.error(`[setup] none from ${new URL(url).host}: ${output.trim().split('\n').at(-1) || 'it did not come in time'}`);
    return false;
  });
}
