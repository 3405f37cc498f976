// Verdaccio, an npm registry for `npm run release:verify`: installed into the cache, because no other command needs it.

import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { npmEnvironment } from '../dependencies.mjs';
import { withLock } from '../lock.mjs';
import { lastError } from '../packages.mjs';
import { cacheDirectory } from '../paths.mjs';
import { runWithRetry } from '../retry.mjs';
import { run, SetupError, step } from '../steps.mjs';

const version = '6.10.4';
const installTimeoutMs = 600_000;

/** Verdaccio names node-fetch by a tag, which not every registry has. */
const project = { private: true, overrides: { 'node-fetch': '2.6.7' } };

/**
 * @returns {Promise<string>} path of its program for Node.js
 * @throws {SetupError}
 */
export async function ensureVerdaccio() {
  const folder = join(cacheDirectory(), 'release', `verdaccio-${version}`);
  await withLock(join(cacheDirectory(), 'locks', 'verdaccio'), async () => {
    if (!existsSync(folder)) await step(`installing Verdaccio ${version}`, () => install(folder));
  });
  return join(folder, 'node_modules', 'verdaccio', 'bin', 'verdaccio');
}

/** @param {string} folder */
async function install(folder) {
  const partial = `${folder}.${process.pid}`;
  mkdirSync(partial, { recursive: true });
  try {
    writeFileSync(join(partial, 'package.json'), JSON.stringify(project));
    const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', `verdaccio@${version}`];
    const options = { cwd: partial, env: npmEnvironment(process.env), deadline: installTimeoutMs };
    const { code, output } = await runWithRetry(() => run('npm', args, options));
    if (code !== 0) throw new SetupError(`Verdaccio ${version} could not be installed: ${lastError(output)}`, 'npm run release:verify');
    renameSync(partial, folder);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}
