// `npm run images`: builds the images of the node and of the operator and writes each as an OCI archive into the cache directory.

import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { sourcesStamp } from '../builds.mjs';
import { goArchitecture } from '../kubernetes/kubernetes.mjs';
import { withLock } from '../lock.mjs';
import { aptPackages, ensurePackages } from '../packages.mjs';
import { cacheDirectory, root } from '../paths.mjs';
import { fail, run, SetupError, step } from '../steps.mjs';
import { workerKey } from '../worker/worker.mjs';
import { exportImage } from './archive.mjs';
import { ensureBase } from './base.mjs';
import { addBill, contentsOf } from './contents.mjs';
import { archiveFiles, buildArguments, commitName, imageName, images, isPinned, oldArchives, sourceEpoch } from './plan.mjs';
import { buildah, buildImage, certificatesFile, hasImage, imageId, imagesDirectory, pruneLayers } from './store.mjs';

/** @typedef {import('./plan.mjs').Image} Image */
/** @typedef {import('./plan.mjs').Setting} Setting */

/**
 * @typedef {object} BuiltImage
 * @property {'node' | 'operator'} name
 * @property {string} image its name in the archive
 * @property {string} archive path; `ctr images import`, `podman load` and `skopeo copy oci-archive:` accept it
 * @property {string} digest of its manifest
 * @property {string} bill path of its bill of materials (CycloneDX)
 * @property {number} bytes size of the archive, whose layers are compressed
 */

const archivesKept = 3;

/**
 * @param {{ base?: string, only?: readonly string[] }} [options] base: another base image that buildah can pull; only: images to build
 * @returns {Promise<BuiltImage[]>}
 * @throws {SetupError}
 */
export async function ensureImages({ base: given, only } = {}) {
  if (process.platform !== 'linux') throw new SetupError('Images are built on Linux only.', 'run it in a virtual machine');
  if (process.getuid?.() !== 0) throw new SetupError('Building images requires root (debootstrap, chroot).', 'sudo npm run images');
  await ensurePackages(aptPackages.images, 'building images');
  return withLock(join(cacheDirectory(), 'locks', 'images'), async () => {
    mkdirSync(imagesDirectory(), { recursive: true });
    const base = await baseFor(given);
    /** @type {BuiltImage[]} */
    const built = [];
    for (const image of images) if (only === undefined || only.includes(image.name)) built.push(await ensureImage(image, base));
    return built;
  });
}

/** @param {string | undefined} given */
async function baseFor(given) {
  if (given === undefined) return ensureBase();
  if (!isPinned(given)) throw new SetupError(`The base image ${given} is not pinned by a digest.`, 'specify it as IMAGE@sha256:DIGEST');
  if (!(await hasImage(given))) await step(`pulling ${given}`, () => buildah(['pull', '--quiet', given]));
  return given;
}

/**
 * @param {Image} image
 * @param {string} base
 * @returns {Promise<BuiltImage>}
 */
async function ensureImage(image, base) {
  const { version, mediasoup } = versions();
  const worker = image.name === 'node' ? workerFor(mediasoup) : undefined;
  const setting = {
    base,
    version,
    commit: await commitOf(image),
    epoch: sourceEpoch(process.env.SOURCE_DATE_EPOCH),
    worker,
    certificates: certificatesFile(),
  };
  const stamp = await stampOf(image, setting);
  const archive = join(imagesDirectory(), `${image.name}-${version}-${stamp}.tar`);
  const name = imageName(image, version);
  const { digestFile, bill } = besides(archive);
  if (!existsSync(digestFile) || !existsSync(bill)) await step(`building the image ${name}`, () => make(image, setting, archive));
  // Archives are deleted by age; this one is in use.
  utimesSync(archive, new Date(), new Date());
  forgetOld(image);
  return { name: image.name, image: name, archive, digest: readFileSync(digestFile, 'utf8').trim(), bill, bytes: statSync(archive).size };
}

/**
 * Files next to an archive. The digest is written last, so that its presence marks the build as complete.
 * @param {string} archive
 */
function besides(archive) {
  return { digestFile: `${archive}.digest`, bill: `${archive}.cdx.json` };
}

/** @returns {{ version: string, mediasoup: string }} */
function versions() {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return { version, mediasoup: packages['node_modules/mediasoup'].version };
}

/**
 * The worker that tests and `npm start` use, if it was built for the Debian version of our base; building one takes minutes.
 * @param {string} version
 * @returns {string | undefined} its folder
 */
function workerFor(version) {
  const osRelease = 'ID=debian\nVERSION_ID="12"\n';
  const folder = join(cacheDirectory(), 'worker', workerKey({ version, platform: 'linux', arch: process.arch, osRelease }));
  return existsSync(join(folder, 'mediasoup-worker')) ? folder : undefined;
}

/** @param {Image} image */
async function commitOf({ sources }) {
  const head = await run('git', ['log', '-1', '--format=%h', '--abbrev=12', '--', ...sources], { cwd: root, deadline: 30_000 });
  const changes = await run('git', ['status', '--porcelain', '--', ...sources], { cwd: root, deadline: 30_000 });
  return head.code === 0 && changes.code === 0 ? commitName(head.output, changes.output) : 'unknown';
}

/**
 * @param {Image} image
 * @param {Setting} setting
 * @returns {Promise<string>} a hash over everything that the image is built from
 */
async function stampOf({ sources }, setting) {
  const hash = createHash('sha256').update(sourcesStamp(root, sources));
  hash.update(`\0${await imageId(setting.base)}\0${setting.version}\0${setting.commit}\0${setting.epoch}\0${process.arch}`);
  if (setting.worker !== undefined) hash.update(readFileSync(join(setting.worker, 'mediasoup-worker')));
  return hash.digest('hex').slice(0, 12);
}

/**
 * @param {Image} image
 * @param {Setting} setting
 * @param {string} archive
 */
async function make(image, setting, archive) {
  await pruneLayers();
  const log = join(imagesDirectory(), `build-${image.name}.log`);
  const name = imageName(image, setting.version);
  await buildImage(name, buildArguments(image, setting, root), log);
  const { digestFile, bill } = besides(archive);
  await addBill(name, setting.epoch);
  const digest = await exportImage(name, archive);
  writeFileSync(bill, `${JSON.stringify(await contentsOf(name, digest), undefined, 2)}\n`);
  writeFileSync(digestFile, `${digest}\n`);
}

/** @param {Image} image */
function forgetOld(image) {
  const folder = imagesDirectory();
  const archives = readdirSync(folder)
    .filter((file) => file.endsWith('.tar') && !file.startsWith('.'))
    .map((file) => ({ file, time: statSync(join(folder, file)).mtimeMs }));
  for (const file of oldArchives(image, archives, archivesKept)) {
    for (const path of [...Object.values(besides(join(folder, file))), join(folder, file)]) rmSync(path, { force: true });
  }
}

/**
 * @param {string} folder for a release on another computer (`npm run release -- --archives`)
 * @param {BuiltImage} built
 * @returns {string} path of the archive
 */
function copyTo(folder, { name, archive, bill }) {
  mkdirSync(folder, { recursive: true });
  const files = archiveFiles(folder, name, goArchitecture(process.arch));
  copyFileSync(archive, files.archive);
  copyFileSync(bill, files.bill);
  return files.archive;
}

/** @param {number} bytes */
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`;

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    const options = /** @type {const} */ ({ base: { type: 'string' }, output: { type: 'string' } });
    const {
      values: { output, ...values },
      positionals,
    } = parseArgs({ options, allowPositionals: true });
    const unknown = positionals.find((name) => !images.some((image) => image.name === name));
    if (unknown !== undefined)
      throw new SetupError(`Unknown image: ${unknown}.`, `choose from: ${images.map(({ name }) => name).join(' ')}`);
    for (const built of await ensureImages({ ...values, ...(positionals.length > 0 && { only: positionals }) })) {
      const archive = output === undefined ? built.archive : copyTo(output, built);
      console.log(`${built.image}  ${megabytes(built.bytes)}  ${built.digest}\n  ${archive}`);
    }
  } catch (error) {
    fail(error);
  }
}
