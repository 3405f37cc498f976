// What of an image build can be decided without building: names, what an image is made of, arguments of buildah.

import { basename } from 'node:path';

import { lastError } from '../packages.mjs';

/**
 * @typedef {object} Image
 * @property {'node' | 'operator'} name
 * @property {string} dockerfile relative to the root
 * @property {string[]} sources files and folders that it is made of, relative to the root
 * @property {string} commitArgument build argument that takes the git commit
 */

const common = ['package.json', 'package-lock.json', 'tsconfig.json', 'LICENSE', '.dockerignore', 'crds'];

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

/** Where images are published, and the name under which the chart asks for them. */
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
 * @returns {boolean} whether it stands for the same bytes for ever
 */
export function isPinned(name) {
  return /@sha256:[0-9a-f]{64}$/.test(name);
}

/**
 * @typedef {object} Setting
 * @property {string} base name of the base image
 * @property {string} version
 * @property {string} commit
 * @property {number} epoch time of everything in the image, in seconds
 * @property {string} [worker] folder with a media worker that fits the base; without it one is made during the build
 * @property {string} [certificates] bundle of certificates that the build needs to reach the npm registry
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
 * Which archives of an image can go: all but the newest, for other checkouts use the cache, too.
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
 * The last commit that changed what an image is made of, so that the same sources give the same image.
 * @param {string} head what `git log -1 --format=%h` printed for the sources; empty where there is no git
 * @param {string} changes what `git status --porcelain` printed for the sources
 */
export function commitName(head, changes) {
  const commit = head.trim();
  if (!/^[0-9a-f]{7,40}$/.test(commit)) return 'unknown';
  return changes.trim() === '' ? commit : `${commit}-changed`;
}

/**
 * A time that is the same for every build of the same sources.
 * @param {string | undefined} given SOURCE_DATE_EPOCH, see reproducible-builds.org/specs/source-date-epoch
 * @returns {number} seconds
 */
export function sourceEpoch(given) {
  return given !== undefined && /^\d{1,10}$/.test(given) ? Number(given) : 0;
}

/**
 * @param {string} output of a build that failed
 * @returns {string} what the failed command said, rather than that it failed
 */
export function buildError(output) {
  const noise = /^(subprocess exited|error: building at step|.*level=|\[\d+\/\d+\] )/i;
  const lines = output.split('\n').filter((line) => line.trim() !== '' && !noise.test(line));
  return lastError((lines.length > 0 ? lines : output.split('\n')).join('\n'));
}
