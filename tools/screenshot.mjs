// `npm run screenshot`: recreates docs/console.png, the screenshot of the console in the README.

import { join } from 'node:path';

import { aptPackages } from './packages.mjs';
import { root } from './paths.mjs';
import { runProgram } from './program.mjs';

await runProgram(['--test', '--test-reporter=spec', join(root, 'test', 'browser', 'console-screenshot.test.ts')], {
  worker: true,
  packages: [aptPackages.browser, 'the screenshot'],
  builds: true,
  env: { MEDIAROOMS_MAKE_SCREENSHOT: '1' },
});
