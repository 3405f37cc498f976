// Dependencies: installs node_modules if it is missing or its lock file changed.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { withLock } from './lock.mjs';
import { lastError } from './packages.mjs';
import { checkoutLock, nodeModules, pinnedNode, root } from './paths.mjs';
import { runWithRetry } from './retry.mjs';
import { run, SetupError, step } from './steps.mjs';

const lockFile = join(root, 'package-lock.json');
const stampFile = join(nodeModules, '.mediarooms-stamp');
const installTimeoutMs = 600_000;

/**
 * @param {string} lockText content of package-lock.json
 * @param {string} platform e.g. `linux-x64`
 * @returns {string} a stamp that changes exactly when node_modules must be reinstalled
 */
export function dependencyStamp(lockText, platform) {
  return `${createHash('sha256').update(lockText).digest('hex')} ${platform}`;
}

/**
 * True if node_modules, installed without setup (a plain `npm ci`), matches the lock file.
 * @param {string} lockText content of package-lock.json
 * @param {string} installedText content of node_modules/.package-lock.json
 * @returns {boolean}
 */
export function installedMatchesLock(lockText, installedText) {
  const wanted = packagesOf(lockText);
  const installed = packagesOf(installedText);
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.includes('node_modules/') || entry.optional || entry.devOptional || entry.peer) return true;
    return entry.link ? installed[path]?.resolved === entry.resolved : installed[path]?.version === entry.version;
  });
}

/**
 * @param {string} text
 * @returns {Record<string, { version?: string, resolved?: string, optional?: boolean, devOptional?: boolean, peer?: boolean, link?: boolean }>}
 */
function packagesOf(text) {
  try {
    return JSON.parse(text).packages ?? {};
  } catch {
    return {};
  }
}

/**
 * Environment of the npm that setup runs.
 * @param {NodeJS.ProcessEnv} env
 * @returns {NodeJS.ProcessEnv}
 */
export function npmEnvironment(env) {
  const path = (env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  /** @type {NodeJS.ProcessEnv} */
  const result = {
    ...env,
    // npm replaces node_modules, so it must not run on the Node.js inside of it.
    PATH: path.join(delimiter),
    // npm before version 11 does not support allowScripts. Given a worker, mediasoup's install step does nothing; setup adds ours later.
    MEDIASOUP_WORKER_BIN: env.MEDIASOUP_WORKER_BIN || 'provided-by-node-setup',
  };
  // NODE_ENV=production would omit Vite and the pinned Node.js.
  delete result.NODE_ENV;
  return result;
}

/** Updates node_modules to match package-lock.json. */
export async function ensureDependencies() {
  if (isCurrent()) return;
  await withLock(checkoutLock('npm'), async () => {
    if (isCurrent()) return;
    await step('installing npm packages', install);
    remember(currentStamp());
  });
}

/** @returns {string} */
function currentStamp() {
  return dependencyStamp(read(lockFile), `${process.platform}-${process.arch}`);
}

/** @returns {boolean} */
function isCurrent() {
  if (!existsSync(pinnedNode)) return false;
  const stamp = currentStamp();
  const installed = read(join(nodeModules, '.package-lock.json'));
  const current = isInstalled({ stamp, foundStamp: read(stampFile), lock: read(lockFile), installed });
  if (current) remember(stamp);
  return current;
}

/**
 * True if node_modules is up to date.
 * @param {{ stamp: string, foundStamp: string, lock: string, installed: string }} state stamp: the expected stamp; foundStamp: the stamp
 *   that setup wrote, empty if npm ran without setup; lock, installed: contents of package-lock.json and of npm's record in node_modules
 * @returns {boolean}
 */
export function isInstalled({ stamp, foundStamp, lock, installed }) {
  if (foundStamp === stamp) return true;
  // Native packages of another platform, for example a checkout shared with a container.
  if (foundStamp && foundStamp.split(' ')[1] !== stamp.split(' ')[1]) return false;
  return installed !== '' && installedMatchesLock(lock, installed);
}

/** @param {string} stamp */
function remember(stamp) {
  if (read(stampFile) !== stamp) writeFileSync(stampFile, stamp);
}

/**
 * @param {string} file
 * @returns {string} its content; empty if it does not exist
 */
function read(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

async function install() {
  const env = npmEnvironment(process.env);
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel', 'error'];
  const { code, output, timedOut } = await runWithRetry(() => run('npm', args, { cwd: root, env, deadline: installTimeoutMs }));
  if (code === 0 && existsSync(pinnedNode)) return;
  throw new SetupError(npmFailure(code, output, timedOut), 'npm ci');
}

/**
 * @param {number} code
 * @param {string} output
 * @param {boolean} timedOut
 * @returns {string} message
 */
export function npmFailure(code, output, timedOut) {
  if (code === 127) return 'npm is not on PATH.';
  if (timedOut) return `npm ci did not finish within ${installTimeoutMs / 1000} s and was killed.`;
  if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|ECONNRESET/.test(output)) {
    return 'npm ci could not reach the package registry: check the network and `npm config get registry`.';
  }
  if (code === 0) return 'npm ci did not create node_modules/node/bin/node: the install script of the package `node` did not run.';
  // The first line contains only a code, and some lines are empty.
  const line = output.split('\n').find((each) => /^npm (error|ERR!) +(?!code\b)\S/.test(each)) ?? lastError(output);
  return `npm ci failed: ${line.replace(/^npm (error|ERR!) +/, '').slice(0, 300)}`;
}
