// Deno and Bun for the test of the packages: from npm, into the cache. Without a network the test says that it was not run in them.

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { npmEnvironment } from './dependencies.mjs';
import { withLock } from './lock.mjs';
import { lastError } from './packages.mjs';
import { cacheDirectory } from './paths.mjs';
import { run, step } from './steps.mjs';

const versions = { deno: '2.9.6', bun: '1.4.5' };
const installDeadline = 180_000;

/** @typedef {keyof typeof versions} Runtime */

/**
 * @param {Runtime} name
 * @returns {string} the folder that npm installs it in
 */
function folderOf(name) {
  return join(cacheDirectory(), 'runtimes', `${name}-${versions[name]}-${process.platform}-${process.arch}`);
}

/**
 * @param {Runtime} name
 * @returns {string | undefined} its program, where it is in the cache: npm has it in a package for each platform
 */
export function findRuntime(name) {
  const [scope, place] = name === 'deno' ? ['@deno', 'deno'] : ['@oven', 'bin/bun'];
  const folder = join(folderOf(name), 'node_modules', scope);
  if (!existsSync(folder)) return undefined;
  return readdirSync(folder)
    .map((entry) => join(folder, entry, place))
    .find(existsSync);
}

/** Fetches what is missing. Never fails: what could not be had is said. */
export async function ensureRuntimes() {
  for (const name of /** @type {Runtime[]} */ (Object.keys(versions))) {
    if (findRuntime(name)) continue;
    await withLock(join(cacheDirectory(), 'locks', `runtime-${name}`), async () => {
      if (!findRuntime(name)) await step(`fetching ${name} ${versions[name]}`, () => fetchRuntime(name));
    });
  }
}

/** @param {Runtime} name */
async function fetchRuntime(name) {
  const folder = folderOf(name);
  const making = `${folder}.${process.pid}`;
  mkdirSync(making, { recursive: true });
  try {
    writeFileSync(join(making, 'package.json'), '{"private":true}');
    const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', `${name}@${versions[name]}`];
    const { code, output } = await run('npm', args, { cwd: making, env: npmEnvironment(process.env), deadline: installDeadline });
    if (code !== 0) {
      console.error(`[setup] ${name} could not be fetched: ${lastError(output)}`);
      return;
    }
    rmSync(folder, { recursive: true, force: true });
    renameSync(making, folder);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}
