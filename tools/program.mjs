// Programs of the repository: installs what a program needs, then runs it on the pinned Node.js in the foreground.

import { ensureBuilds } from './builds.mjs';
import { ensureDependencies } from './dependencies.mjs';
import { ensurePackages } from './packages.mjs';
import { childEnvironment, pinnedNode, root } from './paths.mjs';
import { fail, runInForeground } from './steps.mjs';
import { ensureWorker } from './worker/worker.mjs';

/**
 * @typedef {object} Needs
 * @property {boolean} [worker] the media worker
 * @property {Parameters<typeof ensurePackages>} [packages] Debian packages, and what needs them
 * @property {boolean} [builds] client library, server SDK and console
 * @property {NodeJS.ProcessEnv} [env] additional variables
 * @property {string} [cwd] the folder of package.json if omitted
 */

/**
 * Sets the exit code of this process to that of the program; an error is reported with its fix.
 * @param {string[]} args of Node.js
 * @param {Needs} needs
 */
export async function runProgram(args, { worker, packages, builds, env, cwd = root }) {
  try {
    await ensureDependencies();
    const workerPath = worker ? await ensureWorker() : undefined;
    if (packages) await ensurePackages(...packages);
    if (builds) await ensureBuilds();
    const { code } = await runInForeground(pinnedNode, args, { ...childEnvironment(workerPath), ...env }, cwd);
    process.exitCode = code;
  } catch (error) {
    fail(error);
  }
}
