// Publication of a release: pushes images and chart, and publishes the npm packages.

import { basename } from 'node:path';
import { step } from '../steps.mjs';
import { pushChart } from './chart.mjs';
import { publishPackage } from './npm-packages.mjs';
import { pushImage } from './registry.mjs';

/**
 * Publishes npm packages last, because a published version cannot be replaced.
 * @param {import('./build.mjs').Built} built
 * @param {{ npmRegistry: string, registry: import('./registry.mjs').ImageRegistry }} options
 * @returns {Promise<string[]>} names with digests of images and chart
 * @throws {SetupError}
 */
export async function publishRelease({ version, packages, chart, images }, { npmRegistry, registry }) {
  const references = [];
  for (const { name, builds } of images) {
    const archives = builds.map(({ archive }) => archive);
    references.push(await step(`pushing ${registry.path}/${name}:${version}`, () => pushImage(name, version, archives, registry)));
  }
  references.push(await step('pushing the chart', () => pushChart(chart, registry)));
  for (const each of packages) {
    const options = { registry: npmRegistry, provenance: process.env.ACTIONS_ID_TOKEN_REQUEST_URL !== undefined };
    console.log(await step(`publishing ${basename(each.archive)}`, () => publishPackage(each, options)));
  }
  return references;
}
