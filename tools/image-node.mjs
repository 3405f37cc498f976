// The node as in its image, for measurements: compiled JavaScript, next to the files that the image has (node/Dockerfile).

import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { ensureBuild } from './builds.mjs';
import { root } from './paths.mjs';

const output = '.cache/image-node';

/** Files of the image that are not compiled. */
const linked = ['package.json', 'packages/console/dist', 'tools/worker/patches'];

/**
 * Compiles it if its sources changed since the last build.
 * @returns {Promise<string>} the program
 */
export async function ensureImageNode() {
  const recipe = 'node/tsconfig.image.json';
  const command = ['node_modules/typescript/bin/tsc', '-p', recipe, '--outDir', output];
  await ensureBuild({
    name: 'the node as in its image',
    recipe,
    sources: ['node', 'api', 'tracing', 'tsconfig.json'],
    output,
    command,
    script: `node ${command.join(' ')}`,
  });
  for (const path of linked) {
    const link = join(root, output, path);
    mkdirSync(dirname(link), { recursive: true });
    rmSync(link, { force: true });
    symlinkSync(join(root, path), link);
  }
  return join(root, output, 'node', 'main.js');
}
