// Fetches mediasoup's prebuilt worker, tries it and moves it into place. Arguments: address, target. Exit code 0: it is there and runs.

import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { run } from './steps.mjs';
import { workerRuns } from './worker.mjs';

const answerDeadline = 20_000;

const [url, target] = process.argv.slice(2);
if (!url || !target) throw new Error('usage: worker-download.mjs ADDRESS TARGET');
mkdirSync(dirname(target), { recursive: true });
const folder = mkdtempSync(`${target}-download-`);
try {
  await fetchWorker(url, target);
} catch (error) {
  const { message, cause } = /** @type {Error & { cause?: { code?: string } }} */ (error);
  console.error(cause?.code ?? message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/**
 * @param {string} from
 * @param {string} to
 */
async function fetchWorker(from, to) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(new Error(`no answer within ${answerDeadline / 1000} s`)), answerDeadline);
  const response = await fetch(from, { signal: abort.signal }).finally(() => clearTimeout(timer));
  if (!response.ok) throw new Error(`the answer is ${response.status}`);
  const archive = join(folder, 'worker.tgz');
  writeFileSync(archive, Buffer.from(await response.arrayBuffer()));
  const { code } = await run('tar', ['-xzf', archive, '-C', folder], { deadline: 30_000 });
  const worker = join(folder, 'mediasoup-worker');
  if (code !== 0) throw new Error('the archive cannot be read');
  if (!workerRuns(worker)) throw new Error('it does not run on this system');
  renameSync(worker, to);
}
