// `npm run soak [-- MINUTES]`: runs rooms with streams and recordings while tracks start and end every second; 30 minutes by default.

import { join } from 'node:path';

import { ensureDependencies } from './dependencies.mjs';
import { aptPackages, ensurePackages } from './packages.mjs';
import { childEnvironment, pinnedNode, root } from './paths.mjs';
import { fail, runInForeground, SetupError } from './steps.mjs';
import { ensureWorker } from './worker/worker.mjs';

const [minutes = '30'] = process.argv.slice(2);

try {
  if (!/^[1-9]\d{0,4}$/.test(minutes)) throw new SetupError(`MINUTES must be a whole number from 1, got: ${minutes}`);
  await ensureDependencies();
  const worker = await ensureWorker();
  await ensurePackages(aptPackages.media, 'the soak test');
  const args = ['--test', '--test-reporter=spec', join(root, 'test', 'media', 'churn.test.ts')];
  const { code } = await runInForeground(pinnedNode, args, { ...childEnvironment(worker), SOAK_MINUTES: minutes }, root);
  process.exitCode = code ?? 1;
} catch (error) {
  fail(error);
}
