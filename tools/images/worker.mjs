// Step of the node image build: gets a media worker like `npm start` and copies it to the path in the first argument.

import { copyFileSync } from 'node:fs';

import { fail, SetupError } from '../steps.mjs';
import { ensureWorker } from '../worker/worker.mjs';

const [target] = process.argv.slice(2);

try {
  if (target === undefined) throw new SetupError('tools/images/worker.mjs requires the target path of the worker.');
  copyFileSync(await ensureWorker(), target);
} catch (error) {
  fail(error);
}
