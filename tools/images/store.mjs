// Local image store in the cache directory, and buildah, which manages it.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { lastError } from '../packages.mjs';
import { cacheDirectory, root } from '../paths.mjs';
import { runWithRetry } from '../retry.mjs';
import { run, SetupError } from '../steps.mjs';
import { buildError } from './plan.mjs';

const usualTimeoutMs = 600_000;
const buildTimeoutMs = 1_800_000;

/** @returns {string} folder with buildah's store and an archive of each built image */
export function imagesDirectory() {
  return join(cacheDirectory(), 'images');
}

/** @returns {string[]} buildah options that select the local store */
export function storeOptions() {
  const folder = imagesDirectory();
  return [`--root=${join(folder, 'storage')}`, `--runroot=${join(folder, 'run')}`, '--storage-driver=overlay'];
}

/**
 * @param {string[]} args
 * @param {{ deadline?: number, cwd?: string, onLine?: (line: string) => void }} [options]
 * @returns {Promise<import('../retry.mjs').Result>}
 */
export function tryBuildah(args, options = {}) {
  mkdirSync(imagesDirectory(), { recursive: true });
  return run('buildah', [...storeOptions(), ...args], { deadline: usualTimeoutMs, ...options });
}

/**
 * @param {string[]} args
 * @returns {Promise<string>} its output
 * @throws {SetupError}
 */
export async function buildah(args) {
  const { code, output } = await tryBuildah(args);
  if (code === 0) return output;
  throw new SetupError(`buildah ${args[0]} failed: ${lastError(output)}`, `buildah ${[...storeOptions(), ...args].join(' ')}`);
}

/** @returns {string | undefined} the certificate bundle that builds need for registries in this network */
export function certificatesFile() {
  return [process.env.NODE_EXTRA_CA_CERTS, process.env.SSL_CERT_FILE].find((file) => file !== undefined && existsSync(file));
}

/**
 * Builds an image. Existing layers are reused.
 * @param {string} name
 * @param {readonly string[]} args of `buildah`
 * @param {string} log file for all output
 * @throws {SetupError}
 */
export async function buildImage(name, args, log) {
  const { code, output } = await runWithRetry(() => tryBuildah([...args], { deadline: buildTimeoutMs, cwd: root }));
  writeFileSync(log, output);
  if (code === 0) return;
  throw new SetupError(
    `The image ${name} could not be built: ${buildError(output)} (all output: ${log})`,
    `buildah ${[...storeOptions(), ...args].join(' ')}`,
  );
}

/** @param {string} name */
export async function hasImage(name) {
  return (await tryBuildah(['inspect', '--type=image', '--format={{.FromImageID}}', name])).code === 0;
}

/**
 * @param {string} name
 * @returns {Promise<string>} the id of an image, which changes with its content
 */
export async function imageId(name) {
  return (await buildah(['inspect', '--type=image', '--format={{.FromImageID}}', name])).trim();
}

/** A changed source adds about twenty layers of a few megabytes. Above this limit all layers are deleted; the next build is a cold one. */
const maxLayers = 600;

/** Removes containers of interrupted builds, and all layers if there are too many. The caller must hold the lock. */
export async function pruneLayers() {
  await buildah(['rm', '--all']);
  const layers = (await buildah(['images', '--all', '--quiet'])).trim().split('\n');
  if (layers.length > maxLayers) await buildah(['rmi', '--prune', '--force']);
}
