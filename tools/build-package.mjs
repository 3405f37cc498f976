// `npm run build:client`, `npm run build:sdk`: builds a published package into its folder dist, as JavaScript with types.

import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { childEnvironment, nodeModules, root } from './paths.mjs';
import { fail, runInForeground, SetupError } from './steps.mjs';

const [folder] = process.argv.slice(2);
if (!folder) throw new Error('usage: build-package.mjs FOLDER');
const project = join(root, folder);

try {
  // Remove the output of deleted source files.
  rmSync(join(project, 'dist'), { recursive: true, force: true });
  const { code } = await runInForeground(join(nodeModules, '.bin', 'tsc'), ['-p', project], childEnvironment(), root);
  if (code !== 0)
    throw new SetupError(`${folder} does not compile (errors above).`, `fix them, then: node tools/build-package.mjs ${folder}`);
} catch (error) {
  fail(error);
}
