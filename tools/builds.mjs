// Build cache: builds the client library, the server SDK and the console if their sources changed since the last build.

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

import { withLock } from './lock.mjs';
import { lastError } from './packages.mjs';
import { checkoutLock, nodeModules, pinnedNode, root } from './paths.mjs';
import { run, SetupError, step } from './steps.mjs';

const buildTimeoutMs = 180_000;

/**
 * @typedef {object} Build
 * @property {string} name
 * @property {string} recipe file that must exist for the build
 * @property {string[]} sources source files and folders
 * @property {string} output output folder
 * @property {string[]} command arguments of the pinned Node.js
 * @property {string} script the command with the same effect
 */

/** The build that the type check of the console depends on. */
export const clientLibrary = 'the client library';

/** The build that the examples and their tests run with. */
export const serverSdk = 'the server SDK';

const clientSources = ['packages/client/src', 'packages/client/package.json'];

/** @type {Build[]} in order: the console depends on the client library */
const builds = [
  {
    name: clientLibrary,
    recipe: 'tools/build-package.mjs',
    sources: [...clientSources, 'tools/build-package.mjs'],
    output: 'packages/client/dist',
    command: ['tools/build-package.mjs', 'packages/client'],
    script: 'npm run build:client',
  },
  {
    name: serverSdk,
    recipe: 'tools/build-package.mjs',
    sources: ['packages/server-sdk/src', 'packages/server-sdk/package.json', 'tools/build-package.mjs'],
    output: 'packages/server-sdk/dist',
    command: ['tools/build-package.mjs', 'packages/server-sdk'],
    script: 'npm run build:sdk',
  },
  {
    name: 'the console',
    recipe: 'packages/console/vite.config.ts',
    sources: [...clientSources, 'packages/console'],
    output: 'packages/console/dist',
    command: ['node_modules/vite/bin/vite.js', 'build', '--config', 'packages/console/vite.config.ts', '--logLevel', 'warn'],
    script: 'npm run build:console',
  },
];

/**
 * @param {string} folder base folder of the sources
 * @param {readonly string[]} sources files and folders; their folders `dist` and `node_modules` are ignored
 * @returns {string} a stamp that changes with any file name or content
 */
export function sourcesStamp(folder, sources) {
  const hash = createHash('sha256');
  for (const file of sources.flatMap((source) => filesOf(join(folder, source))).sort()) {
    hash
      .update(`${relative(folder, file)}\0`)
      .update(readFileSync(file))
      .update('\0');
  }
  return hash.digest('hex');
}

/**
 * @param {string} path
 * @returns {string[]}
 */
function filesOf(path) {
  if (!existsSync(path)) return [];
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.name !== 'dist' && entry.name !== 'node_modules')
      .flatMap((entry) => filesOf(join(path, entry.name)));
  } catch {
    return [path];
  }
}

/**
 * Builds outdated builds.
 * @param {string} [only] name of the only build to update
 */
export async function ensureBuilds(only) {
  for (const build of builds) {
    if (only === undefined || build.name === only) await ensureBuild(build);
  }
}

/**
 * Builds an outdated build.
 * @param {Build} build
 */
export async function ensureBuild(build) {
  if (!existsSync(join(root, build.recipe)) || isCurrent(build)) return;
  await withLock(checkoutLock('build'), async () => {
    if (isCurrent(build)) return;
    const stamp = stampOf(build);
    await step(`building ${build.name}`, () => make(build));
    writeFileSync(stampFile(build), stamp);
  });
}

/** @param {Build} build */
async function make(build) {
  const { code, output } = await run(pinnedNode, build.command, { cwd: root, deadline: buildTimeoutMs });
  if (code !== 0) throw new SetupError(`Building ${build.name} failed: ${lastError(output)}`, `see the full output with: ${build.script}`);
}

/** @param {Build} build */
function stampOf(build) {
  // The lock file counts too: a new version of a library changes the console.
  return sourcesStamp(root, [...build.sources, 'package-lock.json']);
}

/** @param {Build} build */
function stampFile(build) {
  return join(nodeModules, `.mediarooms-${build.output.replaceAll('/', '-')}`);
}

/** @param {Build} build */
function isCurrent(build) {
  const file = stampFile(build);
  return existsSync(join(root, build.output)) && existsSync(file) && readFileSync(file, 'utf8') === stampOf(build);
}
