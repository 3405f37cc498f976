// Image archive: writes an image of the local store as a reproducible OCI archive.

import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lastError } from '../packages.mjs';
import { run, SetupError } from '../steps.mjs';
import { buildah, imagesDirectory } from './store.mjs';

const tarTimeoutMs = 300_000;

/**
 * @param {string} name of an image in the local store
 * @param {string} archive path
 * @returns {Promise<string>} digest of the manifest
 * @throws {SetupError}
 */
export async function exportImage(name, archive) {
  const folder = mkdtempSync(join(imagesDirectory(), 'export-'));
  try {
    const layout = join(folder, 'layout');
    await buildah(['push', '--quiet', '--format=oci', name, `oci:${layout}:${name}`]);
    const digest = settle(layout);
    const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX'];
    // Written under a temporary name until complete, because other processes use an archive as soon as it exists.
    const partial = join(folder, 'archive.tar');
    const { code, output } = await run('tar', [...same, '-cf', partial, '-C', layout, 'blobs', 'index.json', 'oci-layout'], {
      deadline: tarTimeoutMs,
    });
    if (code !== 0) throw new SetupError(`The archive of ${name} could not be written: ${lastError(output)}`, 'npm run images');
    renameSync(partial, archive);
    return digest;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Removes the ids of intermediate images, which buildah writes into the history and which differ in each build.
 * @param {string} layout folder of an OCI image layout with one image
 * @returns {string} the new digest of its manifest
 */
function settle(layout) {
  const index = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8'));
  const manifest = readBlob(layout, index.manifests[0].digest);
  const config = writeBlob(layout, withoutComments(readBlob(layout, manifest.config.digest)));
  rmSync(blobPath(layout, manifest.config.digest));
  const changed = writeBlob(layout, { ...manifest, config: { ...manifest.config, ...config } });
  rmSync(blobPath(layout, index.manifests[0].digest));
  Object.assign(index.manifests[0], changed);
  writeFileSync(join(layout, 'index.json'), JSON.stringify(index));
  return changed.digest;
}

/**
 * @template {{ [field: string]: unknown, history?: { [field: string]: unknown }[] }} Config
 * @param {Config} config of an OCI image
 * @returns {Config} the configuration; its history still lists the steps
 */
export function withoutComments(config) {
  if (config.history === undefined) return config;
  return { ...config, history: config.history.map(({ comment: _, ...step }) => step) };
}

/**
 * @param {string} layout
 * @param {string} digest `sha256:...`
 */
function blobPath(layout, digest) {
  return join(layout, 'blobs', ...digest.split(':'));
}

/**
 * @param {string} layout
 * @param {string} digest
 */
function readBlob(layout, digest) {
  return JSON.parse(readFileSync(blobPath(layout, digest), 'utf8'));
}

/**
 * @param {string} layout
 * @param {unknown} content
 * @returns {{ digest: string, size: number }}
 */
function writeBlob(layout, content) {
  const bytes = Buffer.from(JSON.stringify(content));
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  writeFileSync(blobPath(layout, digest), bytes);
  return { digest, size: bytes.length };
}
