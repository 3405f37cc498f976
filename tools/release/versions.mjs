// Version of a release: it must be the same everywhere, and a published version needs a dated section of the changelog and a clean checkout.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { root } from '../paths.mjs';
import { sectionOf } from './changelog.mjs';

/** Folders of the npm packages. */
export const packageFolders = ['packages/client', 'packages/server-sdk'];

/**
 * @typedef {object} Versions
 * @property {string} version of package.json
 * @property {Record<string, string | undefined>} found version by the place where it is stated
 * @property {import('./changelog.mjs').Section} [section] of the changelog
 */

/**
 * @param {string} [folder] of the checkout
 * @returns {Versions}
 */
export function readVersions(folder = root) {
  const text = (/** @type {string} */ path) => readFileSync(join(folder, path), 'utf8');
  const { version } = JSON.parse(text('package.json'));
  const lock = JSON.parse(text('package-lock.json')).packages;
  const chart = parse(text('helm/Chart.yaml'));
  /** @type {Record<string, string | undefined>} */
  const found = {
    'package-lock.json': lock[''].version,
    'helm/Chart.yaml version': chart.version,
    'helm/Chart.yaml appVersion': chart.appVersion,
  };
  for (const path of packageFolders) {
    found[`${path}/package.json`] = JSON.parse(text(`${path}/package.json`)).version;
    found[`package-lock.json ${path}`] = lock[path].version;
  }
  return { version, found, section: sectionOf(text('CHANGELOG.md'), version) };
}

/**
 * @param {Versions} versions
 * @returns {string[]} messages; empty if all versions are equal and the changelog has a section
 */
export function versionProblems({ version, found, section }) {
  const different = Object.entries(found).filter(([, other]) => other !== version);
  return [
    ...different.map(([place, other]) => `${place} is ${other}, but package.json is ${version}.`),
    ...(section === undefined ? [`CHANGELOG.md has no section [${version}].`] : []),
  ];
}

/**
 * @param {Versions} versions
 * @param {{ status: string, tag?: string | undefined }} git output of `git status --porcelain`; the tag that a workflow runs for
 * @returns {string[]} messages; empty if the checkout may be published
 */
export function publishProblems({ version, section }, { status, tag }) {
  return [
    ...(section?.date === undefined ? [`The section [${version}] of CHANGELOG.md has no date.`] : []),
    ...(status.trim() === '' ? [] : ['The checkout has uncommitted changes.']),
    ...(tag === undefined || tag === `v${version}` ? [] : [`The tag is ${tag}, but the version is ${version}.`]),
  ];
}

/**
 * @param {string} version
 * @returns {boolean} true for `1.0.0-rc.1`
 */
export function isPrerelease(version) {
  return version.includes('-');
}
