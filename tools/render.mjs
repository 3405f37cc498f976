// `npm run render`: installs missing dependencies, then renders a recording into one MP4 file.

import { join } from 'node:path';

import { ensureDependencies } from './dependencies.mjs';
import { childEnvironment, pinnedNode, root } from './paths.mjs';
import { fail, runInForeground } from './steps.mjs';

try {
  await ensureDependencies();
  const args = ['--disable-warning=ExperimentalWarning', join(root, 'node', 'render.ts'), ...process.argv.slice(2)];
  const { code } = await runInForeground(pinnedNode, args, childEnvironment(), root);
  process.exitCode = code;
} catch (error) {
  fail(error);
}
