// Patches of the media worker: worker/patches/*.patch, applied in the order of their names.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { nodeModules, root } from '../paths.mjs';
import { run, SetupError } from '../steps.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const folder = join(here, 'patches');
const patchTimeoutMs = 30_000;

/** @returns {string} version of the installed mediasoup */
export function installedVersion() {
  return JSON.parse(readFileSync(join(nodeModules, 'mediasoup', 'package.json'), 'utf8')).version;
}

/** @returns {string[]} names without `.patch`, sorted */
export function patchNames() {
  return readdirSync(folder)
    .flatMap((name) => (name.endsWith('.patch') ? [name.slice(0, -'.patch'.length)] : []))
    .sort();
}

/** @returns {string} a digest of what a worker is built from besides mediasoup: patches, profiles, libraries, options */
export function buildDigest() {
  const hash = createHash('sha256');
  const patches = patchNames().map((name) => `patches/${name}.patch`);
  const names = ['build.mjs', 'headers.mjs', 'profile.mjs', ...patches, ...filesBelow('profiles'), ...filesBelow('subprojects')];
  for (const name of names) hash.update(name).update(readFileSync(join(here, name)));
  return hash.digest('hex').slice(0, 8);
}

/**
 * @param {string} path of a folder, relative to this one
 * @returns {string[]}
 */
function filesBelow(path) {
  const entries = readdirSync(join(here, path), { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() ? filesBelow(`${path}/${entry.name}`) : [`${path}/${entry.name}`])).sort();
}

/**
 * Applies all patches to a copy of the worker's source; the binary then lists them when it is started with `--patches`.
 * @param {string} source
 * @param {string} version of mediasoup that the source is of
 * @throws {SetupError} if the version is not the one in package.json, or a patch does not apply
 */
export async function applyPatches(source, version) {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  if (version !== dependencies.mediasoup) {
    throw new SetupError(
      `mediasoup ${version} is installed, but the patches of the media worker require ${dependencies.mediasoup}.`,
      'npm ci',
    );
  }
  for (const name of patchNames()) {
    const args = ['-p1', '--forward', '--fuzz=0', '--batch', '--no-backup-if-mismatch', '-d', source, '-i', patchFile(name)];
    const { code, output } = await run('patch', args, { deadline: patchTimeoutMs });
    if (code === 0) continue;
    const [reason] = output.split('\n').filter((line) => /FAILED|malformed|No such file|can't find/i.test(line));
    throw new SetupError(`Patch ${name} does not apply to the worker of mediasoup ${version}: ${reason ?? output.trim()}`, 'npm ci');
  }
  const text = JSON.stringify(`${patchNames().join('\n')}\n`);
  writeFileSync(join(source, 'include', 'Patches.hpp'), `#pragma once\n\nstatic constexpr const char* Patches{ ${text} };\n`);
}

/** @param {string} name */
function patchFile(name) {
  return join(folder, `${name}.patch`);
}
