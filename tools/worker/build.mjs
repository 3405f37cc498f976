// Media worker build: compiles the mediasoup worker from its npm package with our patches and the libraries of the distribution.

import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { aptLine, aptPackages, lastError } from '../packages.mjs';
import { cacheDirectory, nodeModules } from '../paths.mjs';
import { runWithRetry } from '../retry.mjs';
import { run, SetupError, step } from '../steps.mjs';
import { precompileHeaders } from './headers.mjs';
import { applyPatches } from './patches.mjs';
import { isGcc, profileOf, unpackProfile, usage } from './profile.mjs';

// Debian 12 has 1.0.1; the worker's meson.build requires 1.1. mediasoup 3.27.1 itself uses this version.
const mesonVersion = '1.12.0';
const mesonSha256 = '71f133147fa0fcfe8f4df49fa1045771064947834538409e5d97b3613aac8b4e';
const compilerTimeoutMs = 20_000;
const configureTimeoutMs = 300_000;
const compileTimeoutMs = 3_600_000;

const standIns = join(dirname(fileURLToPath(import.meta.url)), 'subprojects');

/**
 * @param {string} wrap content of a Meson wrap file
 * @returns {string | undefined} the folder that Meson uses instead of a download if it exists
 */
export function wrapDirectory(wrap) {
  return /^directory\s*=\s*(\S+)/m.exec(wrap)?.[1];
}

/**
 * True if this version of Meson can configure the worker.
 * @param {string} version as `meson --version` prints it
 */
export function isMesonSupported(version) {
  const match = /^(\d+)\.(\d+)/.exec(version.trim());
  if (!match) return false;
  const [major, minor] = [Number(match[1]), Number(match[2])];
  return major > 1 || (major === 1 && minor >= 1);
}

/**
 * Builds the worker and moves it to `target` in one step; a failed build leaves only its log.
 * @param {string} version mediasoup's
 * @param {string} target in the cache directory
 * @throws {SetupError}
 */
export async function buildWorker(version, target) {
  const cores = Math.max(cpus().length, 1);
  const folder = mkdtempSync(`${target}-build-`);
  try {
    const source = await prepareSource(folder, version);
    const meson = await findMeson();
    await step(
      `building the mediasoup worker ${version} from source (about ${Math.ceil(8 / cores)} minutes on ${cores} cores)`,
      async () => {
        const binary = await compile(source, join(folder, 'out'), meson, version, await optimize(join(folder, 'out')));
        await run('strip', [binary], { deadline: 60_000 });
        renameSync(binary, target);
      },
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Copies the worker's source, adds stand-ins for the libraries that Meson would download, applies the patches and precompiled headers.
 * @param {string} folder
 * @param {string} version
 * @returns {Promise<string>} the copy
 */
export async function prepareSource(folder, version) {
  const source = join(folder, 'worker');
  cpSync(join(nodeModules, 'mediasoup', 'worker'), source, { recursive: true });
  for (const name of readdirSync(standIns)) {
    const wrap = join(source, 'subprojects', `${name}.wrap`);
    const directory = existsSync(wrap) ? wrapDirectory(readFileSync(wrap, 'utf8')) : undefined;
    if (!directory) throw unknownSource(version, `it has no subprojects/${name}.wrap`);
    cpSync(join(standIns, name), join(source, 'subprojects', directory), { recursive: true });
  }
  await applyPatches(source, version);
  precompileHeaders(source);
  return source;
}

/**
 * @param {string} version
 * @param {string} why
 */
function unknownSource(version, why) {
  return new SetupError(
    `The worker of mediasoup ${version} does not match tools/worker/build.mjs: ${why}.`,
    'set MEDIASOUP_WORKER_BIN to a worker of that version, or install the mediasoup version of package-lock.json with: npm ci',
  );
}

/**
 * @typedef {{ command: string[], env: NodeJS.ProcessEnv }} Meson
 * @returns {Promise<Meson>} the installed Meson if it is recent enough, or one in the cache
 */
export async function findMeson() {
  const system = await run('meson', ['--version'], { deadline: 20_000 });
  if (system.code === 0 && isMesonSupported(system.output)) return { command: ['meson'], env: process.env };
  const folder = join(cacheDirectory(), `meson-${mesonVersion}`);
  const python = await findPython();
  if (!existsSync(folder)) await step(`installing Meson ${mesonVersion} into the cache directory`, () => installMeson(python, folder));
  const path = [folder, process.env.PYTHONPATH].filter(Boolean).join(delimiter);
  return { command: [python, join(folder, 'bin', 'meson')], env: { ...process.env, PYTHONPATH: path } };
}

/** @returns {Promise<string>} path of a Python with pip */
async function findPython() {
  for (const python of ['python3', '/usr/bin/python3']) {
    const { code } = await run(python, ['-m', 'pip', '--version'], { deadline: 30_000 });
    if (code === 0) return python;
  }
  throw new SetupError('Building the mediasoup worker requires Python 3 with pip.', aptLine(['python3', 'python3-pip']));
}

/**
 * @param {string} python
 * @param {string} folder
 */
async function installMeson(python, folder) {
  const temporary = mkdtempSync(`${folder}-`);
  const wanted = `${temporary}.txt`;
  writeFileSync(wanted, `meson==${mesonVersion} --hash=sha256:${mesonSha256}\n`);
  const options = ['--quiet', '--no-user', '--no-deps', '--require-hashes', '--disable-pip-version-check', '--target', temporary];
  const pip = ['-m', 'pip', 'install', ...options, '-r', wanted];
  const { code, output } = await runWithRetry(() => run(python, pip, { deadline: 180_000 }));
  rmSync(wanted);
  if (code === 0) {
    renameSync(temporary, folder);
    return;
  }
  rmSync(temporary, { recursive: true, force: true });
  throw new SetupError(
    `Meson ${mesonVersion} could not be installed from the Python package index: ${lastError(output)}`,
    'install Meson 1.1 or newer so that `meson` is on PATH (Debian 12: the package meson from bookworm-backports)',
  );
}

/**
 * @param {string} out folder of the build, which gets the profile
 * @returns {Promise<string[]>} options of Meson
 */
async function optimize(out) {
  const compiler = await compilerOf();
  const profile = profileOf(compiler, process.arch);
  if (profile === undefined || !existsSync(profile)) return optimizations(compiler);
  await unpackProfile(profile, out);
  return [...optimizations(compiler), ...usage];
}

/** @returns {Promise<string>} output of `c++ --version` */
export async function compilerOf() {
  return (await run('c++', ['--version'], { deadline: compilerTimeoutMs })).output;
}

/**
 * @param {string} source
 * @param {string} out
 * @param {Meson} meson
 * @param {string} version
 * @param {string[]} more options of Meson
 * @returns {Promise<string>} path of the binary
 */
export async function compile(source, out, meson, version, more) {
  const log = join(cacheDirectory(), 'worker', `build-${version}.log`);
  const options = ['--buildtype', 'release', '-Db_ndebug=true', '--wrap-mode=nodownload', ...more];
  const setup = [...meson.command, 'setup', out, source, ...options];
  const configured = await run(/** @type {string} */ (setup[0]), setup.slice(1), { env: meson.env, deadline: configureTimeoutMs });
  if (configured.code !== 0) throw buildFailure('configuring', version, configured.output, log);
  let reported = 0;
  const built = await run('ninja', ['-C', out, 'mediasoup-worker'], {
    env: meson.env,
    deadline: compileTimeoutMs,
    onLine: (line) => {
      const part = progress(line);
      if (part < reported + 0.25 || part >= 1) return;
      reported = part;
      console.error(`[setup]   ${Math.round(part * 100)} %`);
    },
  });
  if (built.code !== 0) throw buildFailure('compiling', version, built.output, log);
  return join(out, 'mediasoup-worker');
}

/**
 * Link-time optimization with GCC; clang needs a linker for it that may not be installed.
 * @param {string} compiler output of `c++ --version`
 * @returns {string[]} options of Meson
 */
export function optimizations(compiler) {
  return isGcc(compiler) ? ['-Db_lto=true'] : [];
}

/**
 * @param {string} line of Ninja's output
 * @returns {number} 0 to 1
 */
export function progress(line) {
  const match = /^\[(\d+)\/(\d+)\]/.exec(line);
  return match ? Number(match[1]) / Number(match[2]) : 0;
}

/**
 * Returns the first error of the compiler output; the full output goes to a log file.
 * @param {string} phase
 * @param {string} version
 * @param {string} output
 * @param {string} log
 */
function buildFailure(phase, version, output, log) {
  writeFileSync(log, output);
  const first = output.split('\n').find((line) => /\berror: /i.test(line));
  const what = (first ?? lastError(output)).trim().slice(0, 300);
  return new SetupError(
    `The mediasoup worker ${version} could not be built: ${phase} it failed with: ${what} (all output: ${log})`,
    aptLine(aptPackages.worker),
  );
}
