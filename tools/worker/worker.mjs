// Finds the mediasoup worker for this machine, or builds one with our patches. An unpatched one is used only where MEDIASOUP_WORKER_BIN names it.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { withLock } from '../lock.mjs';
import { aptPackages, ensurePackages } from '../packages.mjs';
import { cacheDirectory, nodeModules } from '../paths.mjs';
import { SetupError } from '../steps.mjs';
import { buildWorker } from './build.mjs';
import { patchesDigest } from './patches.mjs';

const binaryName = 'mediasoup-worker';
// What the worker answers when it is started by hand: "you don't seem to be my real father" (its main.cpp).
const startedByHand = 41;

/**
 * @typedef {object} Machine
 * @property {string} version mediasoup's
 * @property {NodeJS.Platform} platform
 * @property {string} arch
 * @property {string} osRelease content of /etc/os-release, empty where there is none
 * @property {string} [patches] digest of the patches; ours unless said
 */

/**
 * Where a worker for such a machine is kept, under the cache directory.
 * @param {Machine} machine
 * @returns {string} e.g. `3.27.1-0a1b2c3d-debian12-x64`
 */
export function workerKey({ version, platform, arch, osRelease, patches = patchesDigest() }) {
  /** @param {string} name */
  const field = (name) => (new RegExp(`^${name}=["']?([^"'\\n]*)`, 'm').exec(osRelease)?.[1] ?? '').replace(/[^\w.-]/g, '');
  // A rolling distribution has no version: its libraries may change under the cached worker, which is why it is tried before use.
  const system = platform === 'linux' ? `${field('ID') || 'linux'}${field('VERSION_ID')}` : platform;
  return `${version}-${patches}-${system}-${arch}`;
}

/**
 * Chooses among the workers that are there, best first.
 * @param {{ given?: string, cached: string }} places given: MEDIASOUP_WORKER_BIN
 * @param {(path: string) => boolean} exists
 * @returns {{ source: 'given' | 'cached', path: string } | undefined} undefined: one must be built
 */
export function chooseWorker({ given, cached }, exists) {
  if (given) return { source: 'given', path: given };
  if (exists(cached)) return { source: 'cached', path: cached };
  return undefined;
}

/** @returns {Machine} */
function thisMachine() {
  const { version } = JSON.parse(readFileSync(join(nodeModules, 'mediasoup', 'package.json'), 'utf8'));
  const osRelease = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  return { version, platform: process.platform, arch: process.arch, osRelease };
}

/** @param {Machine} machine */
function places(machine) {
  return {
    given: process.env.MEDIASOUP_WORKER_BIN,
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
 * Finds a worker that runs here, or builds one into the cache.
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
    await ensurePackages(aptPackages.worker, 'building the mediasoup worker');
    await buildWorker(machine.version, known.cached);
    if (workerRuns(known.cached)) return known.cached;
    throw new SetupError(`The mediasoup worker was built, but ${known.cached} does not run.`, `rm -r ${folder}`);
  });
}
