// Deno and Bun for the package tests: installed from npm into the cache. Without a network the tests report that they skipped them.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { npmEnvironment } from '../dependencies.mjs';
import { withLock } from '../lock.mjs';
import { lastError } from '../packages.mjs';
import { cacheDirectory } from '../paths.mjs';
import { run, step } from '../steps.mjs';

const versions = { deno: '2.9.6', bun: '1.4.5' };
/** SHA-256 of the programs by platform. A platform without an entry gets no download. @type {Record<string, Record<Runtime, string>>} */
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
 * @returns {string} its installation folder
 */
function folderOf(name) {
  return join(cacheDirectory(), 'runtimes', `${name}-${versions[name]}-${machine}`);
}

/**
 * @param {Runtime} name
 * @returns {string | undefined} path of its program if the cache has it; npm has one package per platform
 */
export function findRuntime(name) {
  return programIn(folderOf(name), name);
}

/**
 * @param {string} installed its installation folder
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

/** Fetches missing runtimes. Never fails: it prints what could not be fetched. */
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
      console.error(`[setup] ${name} could not be downloaded: ${lastError(output)}`);
      return;
    }
    const program = programIn(making, name);
    const digest = program && createHash('sha256').update(readFileSync(program)).digest('hex');
    if (digest !== digests[machine]?.[name]) {
      console.error(`[setup] ${name} ${versions[name]} was rejected: unexpected SHA-256 ${digest}`);
      return;
    }
    rmSync(folder, { recursive: true, force: true });
    renameSync(making, folder);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}
