// `npm run build:client`, `npm run build:sdk`: a published package as JavaScript with types, in its folder dist. Argument: the package's folder.

import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { childEnvironment, nodeModules, root } from './paths.mjs';
import { fail, runInForeground, SetupError } from './steps.mjs';

const [folder] = process.argv.slice(2);
if (!folder) throw new Error('usage: build-package.mjs FOLDER');
const project = join(root, folder);

try {
  // A file that is no longer made must not stay.
  rmSync(join(project, 'dist'), { recursive: true, force: true });
  const { code } = await runInForeground(join(nodeModules, '.bin', 'tsc'), ['-p', project], childEnvironment(), root);
  if (code !== 0)
    throw new SetupError(`The package in ${folder} has mistakes (above).`, `mend them, then: node tools/build-package.mjs ${folder}`);
} catch (error) {
  fail(error);
}
