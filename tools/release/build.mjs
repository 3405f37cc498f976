// Build of a release: packages, images and chart in dist/release, with bills of materials and checksums.

import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureImages } from '../images/images.mjs';
import { archiveFiles } from '../images/plan.mjs';
import { goArchitecture } from '../kubernetes/kubernetes.mjs';
import { root } from '../paths.mjs';
import { run, SetupError, step } from '../steps.mjs';
import { packageChart } from './chart.mjs';
import { packPackages } from './npm-packages.mjs';
import { publishProblems, readVersions, versionProblems } from './versions.mjs';

/** Architectures of a published image. */
const architectures = ['amd64', 'arm64'];

/**
 * @typedef {object} ReleasedImage
 * @property {string} name
 * @property {{ architecture: string, archive: string, bill: string }[]} builds
 */

/**
 * @typedef {object} Built
 * @property {string} folder
 * @property {string} version
 * @property {import('./npm-packages.mjs').Packed[]} packages
 * @property {string} chart path of its archive
 * @property {ReleasedImage[]} images
 * @property {string} checksums path
 */

/**
 * @param {{ archives?: string | undefined, base?: string | undefined }} [options] archives: folder with images of other architectures, as
 *   written by `npm run images -- --output`; base: base image of the images
 * @returns {Promise<Built>}
 * @throws {SetupError}
 */
export async function buildRelease({ archives, base } = {}) {
  const versions = readVersions();
  stopOn(versionProblems(versions));
  const folder = join(root, 'dist', 'release');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const packages = await step('packing npm packages', () => packPackages(folder));
  const chart = await step('packaging the chart', () => packageChart(folder, versions.section?.changes ?? []));
  const images = withArchitectures(await ensureImages({ ...(base !== undefined && { base }) }), archives);
  for (const { name, builds } of images)
    for (const { architecture, bill } of builds) copyFileSync(bill, join(folder, `image-${name}-${architecture}.cdx.json`));
  return { folder, version: versions.version, packages, chart, images, checksums: writeChecksums(folder) };
}

/**
 * @param {readonly import('../images/images.mjs').BuiltImage[]} built on this computer
 * @param {string | undefined} folder with images of other architectures
 * @returns {ReleasedImage[]}
 */
function withArchitectures(built, folder) {
  const own = goArchitecture(process.arch);
  return built.map(({ name, archive, bill }) => {
    const others = architectures
      .filter((architecture) => architecture !== own)
      .map((architecture) => ({ architecture, ...archiveFiles(folder ?? '', name, architecture) }))
      .filter((other) => folder !== undefined && existsSync(other.archive));
    const builds = [{ architecture: own, archive, bill }, ...others];
    const missing = architectures.filter((architecture) => !builds.some((build) => build.architecture === architecture));
    if (missing.length > 0)
      console.error(`[setup] The image ${name} is released without ${missing.join(', ')}: --archives has no ${name}-${missing[0]}.tar.`);
    return { name, builds };
  });
}

/**
 * @param {string} folder
 * @returns {string} path of SHA256SUMS, in the format of `sha256sum --check`
 */
function writeChecksums(folder) {
  const lines = readdirSync(folder)
    .sort()
    .map(
      (file) =>
        `${createHash('sha256')
          .update(readFileSync(join(folder, file)))
          .digest('hex')}  ${file}\n`,
    );
  const path = join(folder, 'SHA256SUMS');
  writeFileSync(path, lines.join(''));
  return path;
}

/**
 * @throws {SetupError} if this checkout may not be published
 */
export async function assertPublishable() {
  const { code, output } = await run('git', ['status', '--porcelain'], { cwd: root, deadline: 30_000 });
  const tag = process.env.GITHUB_REF_TYPE === 'tag' ? process.env.GITHUB_REF_NAME : undefined;
  stopOn(publishProblems(readVersions(), { status: code === 0 ? output : 'unknown', tag }));
}

/** @param {readonly string[]} problems */
function stopOn(problems) {
  if (problems.length > 0) throw new SetupError(problems.join(' '), 'see CONTRIBUTING.md, Release');
}
