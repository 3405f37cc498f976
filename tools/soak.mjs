// `npm run soak [-- MINUTES]`: runs rooms with streams and recordings while tracks start and end every second; 30 minutes by default.

import { join } from 'node:path';

import { aptPackages } from './packages.mjs';
import { root } from './paths.mjs';
import { runProgram } from './program.mjs';
import { fail, SetupError } from './steps.mjs';

const [minutes = '30'] = process.argv.slice(2);

if (/^[1-9]\d{0,4}$/.test(minutes)) {
  await runProgram(['--test', '--test-reporter=spec', join(root, 'test', 'media', 'churn.test.ts')], {
    worker: true,
    packages: [aptPackages.media, 'the soak test'],
    env: { SOAK_MINUTES: minutes },
  });
} else fail(new SetupError(`MINUTES must be a whole number from 1, got: ${minutes}`));
