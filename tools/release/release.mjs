// `npm run release`: builds packages, images and chart into dist/release, with checksums; `--publish` pushes and signs them.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ensureDependencies } from '../dependencies.mjs';
import { repository } from '../images/plan.mjs';
import { fail } from '../steps.mjs';
import { imageRegistry } from './registry.mjs';

const options = /** @type {const} */ ({
  publish: { type: 'boolean', default: false },
  'npm-registry': { type: 'string', default: 'https://registry.npmjs.org/' },
  'image-registry': { type: 'string', default: repository },
  key: { type: 'string' },
  archives: { type: 'string' },
  base: { type: 'string' },
});

try {
  const { values } = parseArgs({ options });
  await ensureDependencies();
  // These need the packages that were just installed.
  const { assertPublishable, buildRelease } = await import('./build.mjs');
  const { publishRelease } = await import('./publish.mjs');
  if (values.publish) await assertPublishable();
  const built = await buildRelease(values);
  console.log(`Built ${built.version} in ${built.folder}:\n${readFileSync(built.checksums, 'utf8')}`);
  if (values.publish) {
    const registry = imageRegistry(values['image-registry']);
    const references = await publishRelease(built, { npmRegistry: values['npm-registry'], registry, key: values.key });
    console.log(`Published and signed:\n${references.join('\n')}`);
  } else console.log('Nothing was published (--publish).');
} catch (error) {
  fail(error);
}
