// Which of the patches that this node counts on its media worker lacks.
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const folder = join(import.meta.dirname, '../../../tools/worker/patches');
/** Milliseconds that the binary may take to name its patches. One without any says that it was started by hand, and ends. */
const probeTimeoutMs = 10_000;

/** Names of the patches that the binary was not built with, e.g. `0003-rtp-header-extensions`; all where it cannot be asked. */
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
