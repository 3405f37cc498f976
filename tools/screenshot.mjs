// `npm run screenshot`: recreates docs/console.png, the screenshot of the console in the README.

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
  await ensurePackages(aptPackages.browser, 'the screenshot');
  await ensureBuilds();
  const args = ['--test', '--test-reporter=spec', join(root, 'test', 'browser', 'console-screenshot.test.ts')];
  const { code } = await runInForeground(pinnedNode, args, { ...childEnvironment(worker), MEDIAROOMS_MAKE_SCREENSHOT: '1' }, root);
  process.exitCode = code ?? 1;
} catch (error) {
  fail(error);
}
