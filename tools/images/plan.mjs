// Image build plan: names, sources and buildah arguments. Pure functions, testable without a build.

import { basename, join } from 'node:path';

import { lastError } from '../packages.mjs';

/**
 * @typedef {object} Image
 * @property {'node' | 'operator'} name
 * @property {string} dockerfile relative to the root
 * @property {string[]} sources source files and folders, relative to the root
 * @property {string} commitArgument build argument for the git commit
 */

const common = ['package.json', 'package-lock.json', 'tsconfig.json', 'LICENSE', '.dockerignore', 'api', 'crds', 'tracing'];

/** @type {readonly Image[]} */
export const images = [
  {
    name: 'node',
    dockerfile: 'node/Dockerfile',
    sources: [...common, 'node', 'packages', 'tools'],
    commitArgument: 'SVC_GIT_COMMIT',
  },
  {
    name: 'operator',
    dockerfile: 'operator/Dockerfile',
    sources: [...common, 'operator', 'tools/images/build-operator.mjs'],
    commitArgument: 'GIT_COMMIT',
  },
];

/** Registry path of the published images, which is also the default of the chart. */
export const repository = 'ghcr.io/mediarooms';

/**
 * @param {Image} image
 * @param {string} version
 */
export function imageName({ name }, version) {
  return `${repository}/${name}:${version}`;
}

/**
 * @param {string} name of an image in a registry
 * @returns {boolean} true if the name is pinned by digest
 */
export function isPinned(name) {
  return /@sha256:[0-9a-f]{64}$/.test(name);
}

/**
 * @typedef {object} Setting
 * @property {string} base name of the base image
 * @property {string} version
 * @property {string} commit
 * @property {number} epoch timestamp of all files in the image, in seconds
 * @property {string} [worker] folder with a media worker for this base; without it the build compiles one
 * @property {string} [certificates] certificate bundle that the build needs for the npm registry
 */

/**
 * @param {Image} image
 * @param {Setting} setting
 * @param {string} root
 * @returns {string[]} arguments of `buildah`
 */
export function buildArguments(image, setting, root) {
  const { base, version, commit, epoch, worker, certificates } = setting;
  const given = image.name === 'node' && worker !== undefined;
  return [
    'build',
    '--layers',
    '--force-rm',
    '--isolation=chroot',
    '--format=docker',
    '--pull=false',
    `--timestamp=${epoch}`,
    `--file=${image.dockerfile}`,
    `--tag=${imageName(image, version)}`,
    `--build-arg=BASE=${base}`,
    `--build-arg=VERSION=${version}`,
    `--build-arg=${image.commitArgument}=${commit}`,
    ...(given ? ['--build-arg=WORKER=given', `--build-context=given=${worker}`] : []),
    ...(certificates === undefined ? [] : [`--secret=id=ca,src=${certificates}`]),
    root,
  ];
}

/**
 * Archives of an image that can be deleted: all except the newest, because other checkouts use the cache, too.
 * @param {Image} image
 * @param {readonly { file: string, time: number }[]} archives
 * @param {number} kept
 * @returns {string[]} files
 */
export function oldArchives({ name }, archives, kept) {
  return archives
    .filter(({ file }) => basename(file).startsWith(`${name}-`))
    .sort((one, other) => other.time - one.time)
    .slice(kept)
    .map(({ file }) => file);
}

/**
 * The last commit that changed the sources of an image, so that the same sources produce the same image.
 * @param {string} head output of `git log -1 --format=%h` for the sources; empty without git
 * @param {string} changes output of `git status --porcelain` for the sources
 */
export function commitName(head, changes) {
  const commit = head.trim();
  if (!/^[0-9a-f]{7,40}$/.test(commit)) return 'unknown';
  return changes.trim() === '' ? commit : `${commit}-changed`;
}

/**
 * A timestamp that is the same for every build of the same sources.
 * @param {string | undefined} given SOURCE_DATE_EPOCH, see reproducible-builds.org/specs/source-date-epoch
 * @returns {number} seconds
 */
export function sourceEpoch(given) {
  return given !== undefined && /^\d{1,10}$/.test(given) ? Number(given) : 0;
}

/**
 * @param {string} output of a build that failed
 * @returns {string} the output of the failed command instead of the message that it failed
 */
export function buildError(output) {
  const noise = /^(subprocess exited|error: building at step|.*level=|\[\d+\/\d+\] )/i;
  const lines = output.split('\n').filter((line) => line.trim() !== '' && !noise.test(line));
  return lastError((lines.length > 0 ? lines : output.split('\n')).join('\n'));
}

/**
 * Files of an image in the folder of `npm run images -- --output`, which has images of several architectures.
 * @param {string} folder
 * @param {string} name of the image
 * @param {string} architecture
 */
export function archiveFiles(folder, name, architecture) {
  const archive = join(folder, `${name}-${architecture}.tar`);
  return { archive, bill: `${archive}.cdx.json` };
}
