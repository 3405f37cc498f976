// Static checks: lint and format (Biome), types (tsc). Used by `npm run lint`, `npm run types` and the house layer.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { clientLibrary, ensureBuilds, serverSdk } from '../builds.mjs';
import { ensureDependencies } from '../dependencies.mjs';
import { childEnvironment, nodeModules, root } from '../paths.mjs';
import { fail, runInForeground, SetupError } from '../steps.mjs';

/** All except the first include browser code. */
const typeProjects = [
  'tsconfig.json',
  'packages/client/tsconfig.json',
  'packages/server-sdk/tsconfig.json',
  'packages/console/tsconfig.json',
  'test/browser/tsconfig.json',
  'examples/react-page/tsconfig.json',
];

/** @type {Record<string, () => string[][]>} name -> command lines */
const checks = {
  lint: () => [['biome', 'ci', '.']],
  types: () => typeProjects.filter((file) => existsSync(join(root, file))).map(typeCheck),
};

export const checkNames = Object.keys(checks);

/**
 * The compiler remembers the files of its last run by their contents, and checks only those that a change affects.
 * @param {string} project
 */
function typeCheck(project) {
  const memory = join(nodeModules, '.cache', 'types', `${project.replaceAll('/', '-')}.tsbuildinfo`);
  // With several threads it checks types again that another thread has checked: twice the CPU time.
  return ['tsc', '--noEmit', '--singleThreaded', '--incremental', '--tsBuildInfoFile', memory, '-p', project];
}

/**
 * @param {string} name
 * @returns {Promise<boolean>} true if the check passed; its findings are on the terminal
 */
export async function runCheck(name) {
  // The console and the examples import the packages like a user of them: built, with types.
  if (name === 'types') for (const needed of [clientLibrary, serverSdk]) await ensureBuilds(needed);
  const lines = checks[name]?.() ?? [];
  // Less frequent garbage collection saves a quarter of the compiler's CPU time.
  const env = { GOGC: '400', ...childEnvironment() };
  // At once: each compiler keeps one core busy.
  const ends = await Promise.all(
    lines.map(([program = '', ...args]) => runInForeground(join(nodeModules, '.bin', program), args, env, root)),
  );
  if (ends.some(({ signalled }) => signalled)) throw new SetupError('The checks were interrupted.');
  return ends.every(({ code }) => code === 0);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    await ensureDependencies();
    for (const name of process.argv.slice(2)) if (!(await runCheck(name))) process.exitCode = 1;
  } catch (error) {
    fail(error);
  }
}
