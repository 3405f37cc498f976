// Publication of a release: pushes images and chart, signs them, and publishes the npm packages.

import { basename } from 'node:path';
import { step } from '../steps.mjs';
import { pushChart } from './chart.mjs';
import { publishPackage } from './npm-packages.mjs';
import { pushImage } from './registry.mjs';
import { attestBill, signFile, signReference } from './signatures.mjs';

/**
 * Publishes npm packages last, because a published version cannot be replaced.
 * @param {import('./build.mjs').Built} built
 * @param {{ npmRegistry: string, registry: import('./registry.mjs').ImageRegistry, key?: string | undefined }} options key: see Signer
 * @returns {Promise<string[]>} names with digests of images and chart
 * @throws {SetupError}
 */
export async function publishRelease({ version, packages, chart, images, checksums }, { npmRegistry, registry, key }) {
  const signer = { plainHttp: registry.plainHttp, ...(key !== undefined && { key }) };
  const references = [];
  for (const { name, builds } of images) {
    const archives = builds.map(({ archive }) => archive);
    const reference = await step(`pushing ${registry.path}/${name}:${version}`, () => pushImage(name, version, archives, registry));
    await step(`signing ${reference}`, async () => {
      await signReference(reference, signer);
      for (const { bill } of builds) await attestBill(reference, bill, signer);
    });
    references.push(reference);
  }
  const pushed = await step('pushing the chart', () => pushChart(chart, registry));
  await step(`signing ${pushed}`, () => signReference(pushed, signer));
  await signFile(checksums, signer);
  references.push(pushed);
  for (const each of packages) {
    const options = { registry: npmRegistry, provenance: process.env.ACTIONS_ID_TOKEN_REQUEST_URL !== undefined };
    console.log(await step(`publishing ${basename(each.archive)}`, () => publishPackage(each, options)));
  }
  return references;
}
