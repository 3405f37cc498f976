// Fetches programs of Kubernetes, tries them and moves them into place. Arguments: address, folder, programs. Exit code 0: they are there.

import { createHash } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { run } from './steps.mjs';

const answerDeadline = 5_000;

const [url, target, ...programs] = process.argv.slice(2);
if (!url || !target || programs.length === 0) throw new Error('usage: kubernetes-download.mjs ADDRESS FOLDER PROGRAM ...');
const folder = mkdtempSync(join(target, '.download-'));
try {
  await fetchPrograms(url, target);
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
async function fetchPrograms(from, to) {
  const file = join(folder, from.endsWith('.tar.gz') ? 'archive.tar.gz' : /** @type {string} */ (programs[0]));
  writeFileSync(file, await bytesOf(from));
  if (from.endsWith('.tar.gz')) {
    const { code } = await run('tar', ['-xzf', file, '-C', folder, '--strip-components=2'], { deadline: 60_000 });
    if (code !== 0) throw new Error('the archive cannot be read');
  } else {
    const expected = (await bytesOf(`${from}.sha256`)).toString('utf8').trim();
    if (createHash('sha256').update(readFileSync(file)).digest('hex') !== expected) throw new Error('its checksum is wrong');
  }
  for (const name of programs) {
    const path = join(folder, name);
    chmodSync(path, 0o755);
    const { code } = await run(path, name === 'kubectl' ? ['version', '--client'] : ['--version'], { deadline: 30_000 });
    if (code !== 0) throw new Error(`${name} does not run on this system`);
  }
  for (const name of programs) renameSync(join(folder, name), join(to, name));
}

/**
 * @param {string} from
 * @returns {Promise<Buffer>}
 */
async function bytesOf(from) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(new Error(`no answer within ${answerDeadline / 1000} s`)), answerDeadline);
  const response = await fetch(from, { signal: abort.signal }).finally(() => clearTimeout(timer));
  if (!response.ok) throw new Error(`the answer is ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}
