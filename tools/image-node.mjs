// The node as in its image, for measurements: the bundle, next to the files that the image has (node/Dockerfile).

import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { ensureBuild } from './builds.mjs';
import { root } from './paths.mjs';

const output = '.cache/image-node';

/** Files of the image that are not in the bundle. */
const linked = ['packages/console/dist', 'tools/worker/patches'];

/**
 * Builds it if its sources changed since the last build.
 * @returns {Promise<string>} the program
 */
export async function ensureImageNode() {
  const recipe = 'tools/images/build-node.mjs';
  await ensureBuild({
    name: 'the node as in its image',
    recipe,
    sources: ['node', 'api', 'tracing', 'package.json', recipe],
    output,
    command: [recipe, output],
    script: `node ${recipe} ${output}`,
  });
  for (const path of linked) {
    const link = join(root, output, path);
    mkdirSync(dirname(link), { recursive: true });
    rmSync(link, { force: true });
    symlinkSync(join(root, path), link);
  }
  return join(root, output, 'node', 'main.js');
}
