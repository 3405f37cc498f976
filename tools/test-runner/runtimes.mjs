// Deno and Bun for the test of the packages: from npm, into the cache. Without a network the test says that it was not run in them.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { npmEnvironment } from '../dependencies.mjs';
import { withLock } from '../lock.mjs';
import { lastError } from '../packages.mjs';
import { cacheDirectory } from '../paths.mjs';
import { run, step } from '../steps.mjs';

const versions = { deno: '2.9.6', bun: '1.4.5' };
/** SHA-256 of the programs, by machine. Where none is known nothing is fetched. @type {Record<string, Record<Runtime, string>>} */
const digests = {
  'linux-x64': {
    deno: 'bceb5b6a6239b0b010418406d8c77a508f67cf4337d94288f1c19fe71304aab0',
    bun: 'f05d28a3862f4b84395c7fa32480b835dd47482e80b7e7a49a115227f0c06083',
  },
};
const machine = `${process.platform}-${process.arch}`;
const installTimeoutMs = 180_000;

/** @typedef {keyof typeof versions} Runtime */

/**
 * @param {Runtime} name
 * @returns {string} the folder that npm installs it in
 */
function folderOf(name) {
  return join(cacheDirectory(), 'runtimes', `${name}-${versions[name]}-${machine}`);
}

/**
 * @param {Runtime} name
 * @returns {string | undefined} its program, where it is in the cache: npm has it in a package for each platform
 */
export function findRuntime(name) {
  return programIn(folderOf(name), name);
}

/**
 * @param {string} installed where npm installed it
 * @param {Runtime} name
 * @returns {string | undefined} its path
 */
function programIn(installed, name) {
  const [scope, place] = name === 'deno' ? ['@deno', 'deno'] : ['@oven', 'bin/bun'];
  const folder = join(installed, 'node_modules', scope);
  if (!existsSync(folder)) return undefined;
  return readdirSync(folder)
    .map((entry) => join(folder, entry, place))
    .find(existsSync);
}

/** Fetches what is missing. Never fails: what could not be had is said. */
export async function ensureRuntimes() {
  for (const name of /** @type {Runtime[]} */ (Object.keys(versions))) {
    if (findRuntime(name) || !digests[machine]) continue;
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
    const { code, output } = await run('npm', args, { cwd: making, env: npmEnvironment(process.env), deadline: installTimeoutMs });
    if (code !== 0) {
      console.error(`[setup] ${name} could not be fetched: ${lastError(output)}`);
      return;
    }
    const program = programIn(making, name);
    const digest = program && createHash('sha256').update(readFileSync(program)).digest('hex');
    if (digest !== digests[machine]?.[name]) {
      console.error(`[setup] ${name} ${versions[name]} is not what it was when it was chosen: its SHA-256 is ${digest}`);
      return;
    }
    rmSync(folder, { recursive: true, force: true });
    renameSync(making, folder);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}
