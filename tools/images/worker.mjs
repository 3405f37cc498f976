// Used while the node's image is built: gets a media worker as `npm start` does, and puts it where the first argument says.

import { copyFileSync } from 'node:fs';

import { fail, SetupError } from '../steps.mjs';
import { ensureWorker } from '../worker/worker.mjs';

const [target] = process.argv.slice(2);

try {
  if (target === undefined) throw new SetupError('images-worker.mjs needs the path to put the worker at.');
  copyFileSync(await ensureWorker(), target);
} catch (error) {
  fail(error);
}
