// Paths and environment variables of setup.

import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json. */
export const root = join(dirname(fileURLToPath(import.meta.url)), '..');

export const nodeModules = join(root, 'node_modules');

/** Variables that `npm run e2e` passes to its tests: image archives as JSON, and a file for timings. */
export const imageArchivesVariable = 'MEDIAROOMS_E2E_IMAGES';
export const timingsVariable = 'MEDIAROOMS_E2E_TIMINGS';

/** Variable of the file with compiled validators of responses, for test files and the nodes that they start. */
export const answerValidatorsVariable = 'MEDIAROOMS_ANSWER_VALIDATORS';

/** Variable of the folder with the bundled node, for test files that start nodes as processes. */
export const bundledNodeVariable = 'MEDIAROOMS_BUNDLED_NODE';

/** Variable of the folder with bundled libraries, for test files. */
export const bundledLibrariesVariable = 'MEDIAROOMS_BUNDLED_LIBRARIES';

/** Variables that a test command passes to the process of a test file (test-file-timeout.mjs): its path, and its timeout in ms. */
export const testFileVariable = 'MEDIAROOMS_TEST_FILE';
export const timeoutVariable = 'MEDIAROOMS_TEST_FILE_DEADLINE';

/** The pinned Node.js, which runs everything except setup. */
export const pinnedNode = join(nodeModules, 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');

/**
 * Flags of a node; node/Dockerfile has the same. V8's young generation grows under load and never shrinks: with 16 MB per semi-space a node
 * uses 20 MB more after its start and under load, at the same CPU per request.
 */
export const nodeFlags = ['--max-semi-space-size=4'];

/**
 * Cache directory shared by all checkouts: `$XDG_CACHE_HOME/mediarooms`, or `~/.cache/mediarooms`.
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
 * @returns {string} the lock folder of one task in this checkout
 */
export function checkoutLock(name) {
  return join(cacheDirectory(), 'locks', `${createHash('sha256').update(root).digest('hex').slice(0, 16)}-${name}`);
}

/**
 * Environment of programs on the pinned Node.js: it comes first in PATH, and mediasoup gets the path of its worker.
 * @param {string} [worker] path of the mediasoup worker
 * @returns {NodeJS.ProcessEnv}
 */
export function childEnvironment(worker) {
  const env = {
    // Compiled code: the many processes of a test run start in little more than half the time.
    NODE_COMPILE_CACHE: join(nodeModules, '.cache', 'compiled'),
    ...process.env,
    PATH: [join(nodeModules, '.bin'), process.env.PATH].filter(Boolean).join(delimiter),
  };
  return worker ? { ...env, MEDIASOUP_WORKER_BIN: worker } : env;
}
