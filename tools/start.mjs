// `npm start`: installs missing dependencies, then runs one node in the foreground. Works with Node.js 18 or newer.

import { join } from 'node:path';

import { ensureBuilds } from './builds.mjs';
import { ensureDependencies } from './dependencies.mjs';
import { childEnvironment, nodeFlags, pinnedNode, root } from './paths.mjs';
import { fail, runInForeground } from './steps.mjs';
import { ensureWorker } from './worker/worker.mjs';

try {
  await ensureDependencies();
  const worker = await ensureWorker();
  await ensureBuilds();
  const args = [...nodeFlags, join(root, 'node', 'main.ts'), ...process.argv.slice(2)];
  const { code } = await runInForeground(pinnedNode, args, childEnvironment(worker));
  process.exitCode = code;
} catch (error) {
  fail(error);
}
