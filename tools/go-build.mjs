// Go builds: builds a program of a Go module of this repository; its modules come through the Go module proxy and are checked against go.sum.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sourcesStamp } from './builds.mjs';
import { withLock } from './lock.mjs';
import { lastError } from './packages.mjs';
import { checkoutLock, root } from './paths.mjs';
import { runWithRetry } from './retry.mjs';
import { run, SetupError, step } from './steps.mjs';

/**
 * @typedef {object} GoBuild
 * @property {string} source folder of the module, relative to the root
 * @property {string} output path of the program
 * @property {string} goVersion minimum version of Go, for the message
 * @property {string} [what] package to build; default that of the folder
 * @property {readonly string[]} [flags] of `go build`
 * @property {NodeJS.ProcessEnv} env
 * @property {number} deadline in milliseconds
 */

/** @param {GoBuild} build @throws {SetupError} */
export async function goBuild({ source, output, goVersion, what = '.', flags = [], env, deadline }) {
  if ((await run('go', ['version'], { deadline: 20_000 })).code !== 0) {
    throw new SetupError(`${source} requires Go ${goVersion} or newer, which is not on PATH.`, 'install Go (https://go.dev/dl)');
  }
  const own = { CGO_ENABLED: '0', GOWORK: 'off', ...env };
  const options = { cwd: join(root, source), env: { ...process.env, ...own }, deadline };
  const { code, output: text } = await runWithRetry(() => run('go', ['build', ...flags, '-o', output, what], options));
  const name = what === '.' ? source : what;
  if (code !== 0) throw new SetupError(`${name} could not be built: ${lastError(text)}`, 'set GOPROXY to a reachable proxy');
}

/**
 * Builds the program of a module if it is missing or its sources changed.
 * @param {GoBuild & { lock: string, text: string }} build `lock`: name of its lock; `text`: of the step
 * @throws {SetupError}
 */
export async function ensureGoProgram({ lock, text, ...build }) {
  const stampFile = `${build.output}-sources`;
  const stamp = sourcesStamp(root, [build.source]);
  await withLock(checkoutLock(lock), async () => {
    if (existsSync(build.output) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
    await step(text, () => goBuild(build));
    writeFileSync(stampFile, stamp);
  });
}
