// Worker patches: finds required patches that are missing in the media worker.
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const folder = join(import.meta.dirname, '../../../tools/worker/patches');
/** Timeout for the binary to list its patches, in milliseconds. A binary without patches exits with a usage error. */
const probeTimeoutMs = 10_000;

/** Names of missing patches, for example `0003-rtp-header-extensions`; all of them if the binary does not respond. */
export async function missingPatches(workerBin: string): Promise<string[]> {
  const [wanted, there] = await Promise.all([patchNames(), patchesOf(workerBin)]);
  return wanted.filter((name) => !there.includes(name));
}

async function patchNames(): Promise<string[]> {
  const names = await readdir(folder);
  return names.flatMap((name) => (name.endsWith('.patch') ? [name.slice(0, -'.patch'.length)] : [])).sort();
}

async function patchesOf(workerBin: string): Promise<string[]> {
  try {
    const { stdout } = await run(workerBin, ['--patches'], { env: {}, timeout: probeTimeoutMs, killSignal: 'SIGKILL' });
    return stdout.split('\n');
  } catch {
    return [];
  }
}
