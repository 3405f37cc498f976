// Media worker: finds the mediasoup worker of this machine, or builds a patched one. MEDIASOUP_WORKER_BIN can name an unpatched one.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { withLock } from '../lock.mjs';
import { aptPackages, ensurePackages } from '../packages.mjs';
import { cacheDirectory, nodeModules } from '../paths.mjs';
import { SetupError } from '../steps.mjs';
import { buildWorker } from './build.mjs';
import { buildDigest, installedVersion } from './patches.mjs';

const binaryName = 'mediasoup-worker';
// Exit code of the worker if it is not started by mediasoup ("you don't seem to be my real father", its main.cpp).
const startedByHand = 41;

/**
 * @typedef {object} Machine
 * @property {string} version mediasoup's
 * @property {NodeJS.Platform} platform
 * @property {string} arch
 * @property {string} osRelease content of /etc/os-release, empty if it does not exist
 * @property {string} [build] digest of patches, libraries and options; by default of those in this checkout
 */

/**
 * Folder of a worker for such a machine, relative to the cache directory.
 * @param {Machine} machine
 * @returns {string} e.g. `3.27.1-0a1b2c3d-debian12-x64`
 */
export function workerKey({ version, platform, arch, osRelease, build = buildDigest() }) {
  /** @param {string} name */
  const field = (name) => (new RegExp(`^${name}=["']?([^"'\\n]*)`, 'm').exec(osRelease)?.[1] ?? '').replace(/[^\w.-]/g, '');
  // A rolling distribution has no version. Its libraries may change under the cached worker, so the worker is tested before use.
  const system = platform === 'linux' ? `${field('ID') || 'linux'}${field('VERSION_ID')}` : platform;
  return `${version}-${build}-${system}-${arch}`;
}

/**
 * Chooses an existing worker, in order of preference.
 * @param {{ given?: string, cached: string }} places given: MEDIASOUP_WORKER_BIN
 * @param {(path: string) => boolean} exists
 * @returns {{ source: 'given' | 'cached', path: string } | undefined} undefined if one must be built
 */
export function chooseWorker({ given, cached }, exists) {
  if (given) return { source: 'given', path: given };
  if (exists(cached)) return { source: 'cached', path: cached };
  return undefined;
}

/** @returns {Machine} */
function thisMachine() {
  const osRelease = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  return { version: installedVersion(), platform: process.platform, arch: process.arch, osRelease };
}

/** @param {Machine} machine */
function places(machine) {
  return {
    given: process.env.MEDIASOUP_WORKER_BIN,
    cached: join(cacheDirectory(), 'worker', workerKey(machine), binaryName),
  };
}

/**
 * Path of the existing mediasoup worker for this machine, without building one. mediasoup reads it from MEDIASOUP_WORKER_BIN.
 * @returns {string | undefined} its path; undefined until `npm start` or `npm test` has built one
 */
export function findWorker() {
  if (!existsSync(join(nodeModules, 'mediasoup', 'package.json'))) return process.env.MEDIASOUP_WORKER_BIN || undefined;
  return chooseWorker(places(thisMachine()), existsSync)?.path;
}

/**
 * True if a worker starts on this machine, so its libraries are installed.
 * @param {string} path
 * @returns {boolean}
 */
export function workerRuns(path) {
  return spawnSync(path, [], { env: {}, stdio: 'ignore', timeout: 10_000 }).status === startedByHand;
}

/**
 * Finds a working worker, or builds one into the cache.
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
      `MEDIASOUP_WORKER_BIN is ${found.path}, which is not a mediasoup worker that runs on this machine.`,
      'unset MEDIASOUP_WORKER_BIN',
    );
  }
  const folder = dirname(known.cached);
  return withLock(join(cacheDirectory(), 'locks', `worker-${workerKey(machine)}`), async () => {
    if (existsSync(known.cached)) {
      if (workerRuns(known.cached)) return known.cached;
      // The cache may come from another machine of the same distribution that has the libraries installed.
      await ensurePackages(aptPackages.worker, 'the mediasoup worker');
      if (workerRuns(known.cached)) return known.cached;
    }
    // This process holds the lock, so existing files are from a build that was killed.
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    await ensurePackages(aptPackages.worker, 'building the mediasoup worker');
    await buildWorker(machine.version, known.cached);
    if (workerRuns(known.cached)) return known.cached;
    throw new SetupError(`The mediasoup worker was built, but ${known.cached} does not run.`, `rm -r ${folder}`);
  });
}
