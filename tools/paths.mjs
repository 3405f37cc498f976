// Where set-up finds and keeps things.

import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json. */
export const root = join(dirname(fileURLToPath(import.meta.url)), '..');

export const nodeModules = join(root, 'node_modules');

/** What `npm run e2e` tells its tests: archives of the images that it built, as JSON, and a file for how long things took. */
export const imageArchivesVariable = 'MEDIAROOMS_E2E_IMAGES';
export const timingsVariable = 'MEDIAROOMS_E2E_TIMINGS';

/** What a test command tells the process of a test file (test-file-timeout.mjs): its path, and its deadline in milliseconds. */
export const testFileVariable = 'MEDIAROOMS_TEST_FILE';
export const timeoutVariable = 'MEDIAROOMS_TEST_FILE_DEADLINE';

/** The pinned Node.js that runs everything but set-up. */
export const pinnedNode = join(nodeModules, 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');

/**
 * What a node is started with; node/Dockerfile has the same. Up to 64 MB a half, V8's young generation grows to 128 MB under the first attack, and keeps them.
 */
export const nodeFlags = ['--max-semi-space-size=16'];

/**
 * What outlives a checkout: `$XDG_CACHE_HOME/mediarooms`, else `~/.cache/mediarooms`.
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {string}
 */
export function cacheDirectory(env = process.env) {
  // The XDG Base Directory Specification says to ignore a relative path.
  const base = env.XDG_CACHE_HOME?.startsWith('/') ? env.XDG_CACHE_HOME : join(env.HOME || homedir(), '.cache');
  return join(base, 'mediarooms');
}

/**
 * @param {string} name
 * @returns {string} the lock folder of one activity in this checkout
 */
export function checkoutLock(name) {
  return join(cacheDirectory(), 'locks', `${createHash('sha256').update(root).digest('hex').slice(0, 16)}-${name}`);
}

/**
 * Environment of what runs on the pinned Node.js: it comes first on PATH, and mediasoup knows its worker.
 * @param {string} [worker] path of the mediasoup worker
 * @returns {NodeJS.ProcessEnv}
 */
export function childEnvironment(worker) {
  const env = {
    // What a program was compiled to: each of the many processes of a test run starts in little more than half the time.
    NODE_COMPILE_CACHE: join(nodeModules, '.cache', 'compiled'),
    ...process.env,
    PATH: [join(nodeModules, '.bin'), process.env.PATH].filter(Boolean).join(delimiter),
  };
  return worker ? { ...env, MEDIASOUP_WORKER_BIN: worker } : env;
}
