// Profile of the media worker: how often each branch ran under load, recorded by `npm run train:worker`, for the optimizations of GCC.

import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { lastError } from '../packages.mjs';
import { run, SetupError } from '../steps.mjs';

const folder = join(dirname(fileURLToPath(import.meta.url)), 'profiles');
const tarTimeoutMs = 60_000;

/** Options of Meson for a build that records a profile. */
export const recording = ['-Db_pgo=generate'];

/** Options for a build with a profile. GCC ignores the counts of a function that has changed since; by default that is an error. */
export const usage = ['-Db_pgo=use', '-Dcpp_args=-Wno-coverage-mismatch'];

/**
 * @param {string} compiler output of `c++ --version`
 * @returns {boolean}
 */
export function isGcc(compiler) {
  return compiler.includes('Free Software Foundation');
}

/**
 * Archive of the profile for a compiler: GCC reads only profiles of its own minor version.
 * @param {string} compiler output of `c++ --version`
 * @param {string} arch as `process.arch`
 * @returns {string | undefined} its path, which may not exist; undefined if the compiler is not GCC
 */
export function profileOf(compiler, arch) {
  if (!isGcc(compiler)) return undefined;
  const version = /\) (\d+\.\d+)\./.exec(compiler)?.[1];
  return version && join(folder, `gcc-${version}-${arch}.tar.gz`);
}

/**
 * Copies a profile into the folder of a build, which it creates.
 * @param {string} archive
 * @param {string} out
 * @throws {SetupError}
 */
export async function unpackProfile(archive, out) {
  mkdirSync(out, { recursive: true });
  await tar(['--extract', '--gzip', '--file', archive, '--directory', out]);
}

/**
 * Writes the profile that a build recorded. Equal profiles are equal archives.
 * @param {string} archive
 * @param {readonly string[]} files relative to the folder of the build
 * @param {string} out
 * @throws {SetupError}
 */
export async function packProfile(archive, files, out) {
  const plain = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
  await tar(['--create', '--gzip', ...plain, '--file', archive, '--directory', out, ...files]);
}

/** @param {readonly string[]} args */
async function tar(args) {
  const { code, output } = await run('tar', [...args], { deadline: tarTimeoutMs });
  if (code !== 0) throw new SetupError(`The profile of the media worker: ${lastError(output)}`);
}
