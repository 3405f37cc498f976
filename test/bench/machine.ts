// Machine of a benchmark: its description, and the load of other programs, which every measurement would include.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const root = join(import.meta.dirname, '../..');
/** Share of all cores that other programs may use on a quiet machine. */
const maxBusyShare = 0.06;
const windowMs = 3_000;

/** Time of all cores in hundredths of a second. Stolen time, which another virtual machine has used, counts as busy. */
export type CpuTime = { busy: number; stolen: number; total: number };

export function readCpuTime(): CpuTime {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softirq = 0, steal = 0] = line.split(/\s+/).slice(1).map(Number);
  const busy = user + nice + system + irq + softirq + steal;
  return { busy, stolen: steal, total: busy + idle + wait };
}

/** Share of all cores that was busy in the last three seconds, from 0 to 1. */
async function busyShare(): Promise<number> {
  const before = readCpuTime();
  await sleep(windowMs);
  const after = readCpuTime();
  return (after.busy - before.busy) / (after.total - before.total);
}

/** Waits until the machine is quiet. @returns the busy share of the cores if it is not quiet within this time */
export async function waitUntilQuiet(timeoutMs: number): Promise<number | undefined> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const share = await busyShare();
    if (share <= maxBusyShare) return undefined;
    if (performance.now() > end) return share;
  }
}

/** E.g. `2 cores of AMD EPYC 9R14, Linux 6.18.5`. */
export function machineText(): string {
  const all = cpus();
  return `${all.length} ${all.length === 1 ? 'core' : 'cores'} of ${all[0]?.model.trim() ?? 'an unknown model'}, Linux ${release()}`;
}

/** Version and commit of Mediarooms, and versions of what it runs on. */
export function softwareText(): string {
  const versionOf = (path: string) => (JSON.parse(readFileSync(join(root, path), 'utf8')) as { version: string }).version;
  const commit = execFileSync('git', ['describe', '--always', '--dirty', '--abbrev=12'], { cwd: root, encoding: 'utf8' }).trim();
  const mediasoup = versionOf('node_modules/mediasoup/package.json');
  return `Mediarooms ${versionOf('package.json')} (${commit}), mediasoup ${mediasoup}, Node.js ${process.versions.node}`;
}
