// `npm run build:client`: node/client as JavaScript with types, in node/client/dist.

import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { childEnvironment, nodeModules, root } from './paths.mjs';
import { fail, runInForeground, SetupError } from './steps.mjs';

const project = join(root, 'node', 'client');

try {
  // A file that is no longer made must not stay.
  rmSync(join(project, 'dist'), { recursive: true, force: true });
  const { code } = await runInForeground(join(nodeModules, '.bin', 'tsc'), ['-p', project], childEnvironment(), root);
  if (code !== 0) throw new SetupError('The client library has mistakes (above).', 'mend them, then: npm run build:client');
} catch (error) {
  fail(error);
}
