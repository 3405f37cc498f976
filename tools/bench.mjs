// `npm run bench`: installs missing dependencies, then runs the benchmarks.

import { join } from 'node:path';

import { ensureBuilds } from './builds.mjs';
import { ensureDependencies } from './dependencies.mjs';
import { aptPackages, ensurePackages } from './packages.mjs';
import { childEnvironment, pinnedNode, root } from './paths.mjs';
import { fail, runInForeground } from './steps.mjs';
import { ensureWorker } from './worker/worker.mjs';

try {
  await ensureDependencies();
  const worker = await ensureWorker();
  await ensurePackages(aptPackages.browser, 'the benchmarks');
  await ensureBuilds();
  const args = [join(root, 'test', 'bench', 'run.ts'), ...process.argv.slice(2)];
  const { code } = await runInForeground(pinnedNode, args, childEnvironment(worker), root);
  process.exitCode = code;
} catch (error) {
  fail(error);
}
