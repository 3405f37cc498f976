// Image of the agent of the tests, with LiveKit's agents framework from the Python registry: an archive in the cache directory.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { exportImage } from '../images/archive.mjs';
import { ensureBase } from '../images/base.mjs';
import { buildImage, certificatesFile, imageId, imagesDirectory } from '../images/store.mjs';
import { withLock } from '../lock.mjs';
import { aptPackages, ensurePackages } from '../packages.mjs';
import { cacheDirectory, root } from '../paths.mjs';
import { step } from '../steps.mjs';

export const agentImageName = 'localhost/livekit-agent:1';

const buildTimeoutMs = 1_800_000;
const archivesKept = 2;
const source = join(root, 'test', 'agents');
const files = ['Dockerfile', 'requirements.txt', 'agent.py', 'tones.py'];

/**
 * Builds the image, unless the cache has it. Requires root.
 * @returns {Promise<string>} path of its OCI archive
 * @throws {import('../steps.mjs').SetupError}
 */
export async function ensureAgentImage() {
  await ensurePackages(aptPackages.images, 'building images');
  return withLock(
    join(cacheDirectory(), 'locks', 'images'),
    async () => {
      const base = await ensureBase();
      const folder = join(imagesDirectory(), 'agents');
      const archive = join(folder, `${await stampOf(base)}.tar`);
      if (existsSync(archive)) return archive;
      mkdirSync(folder, { recursive: true });
      await step(`building the image ${agentImageName} (a download of 150 MB)`, () => make(base, archive));
      forgetOld(folder);
      return archive;
    },
    { deadline: buildTimeoutMs },
  );
}

/** @param {string} folder of the archives; other checkouts use it, too */
function forgetOld(folder) {
  const archives = readdirSync(folder).map((file) => join(folder, file));
  const newestFirst = archives.sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs);
  for (const archive of newestFirst.slice(archivesKept)) rmSync(archive);
}

/**
 * @param {string} base
 * @returns {Promise<string>} a hash over everything that the image is built from
 */
async function stampOf(base) {
  const hash = createHash('sha256').update(`${await imageId(base)}\0${process.arch}`);
  for (const file of files) hash.update(`\0${file}\0`).update(readFileSync(join(source, file)));
  return hash.digest('hex').slice(0, 16);
}

/**
 * @param {string} base
 * @param {string} archive
 */
async function make(base, archive) {
  const certificates = certificatesFile();
  const secret = certificates === undefined ? [] : [`--secret=id=ca,src=${certificates}`];
  const options = ['--layers', '--force-rm', '--isolation=chroot', '--pull=false', `--tag=${agentImageName}`, `--build-arg=BASE=${base}`];
  await buildImage(agentImageName, ['build', ...options, ...secret, source], join(imagesDirectory(), 'build-agent.log'));
  await exportImage(agentImageName, archive);
}
