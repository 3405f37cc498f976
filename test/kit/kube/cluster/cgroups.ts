// cgroups (version 1 or 2) of the Kubernetes nodes of a cluster: created for kubelets, and deleted recursively, also those of killed runs.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cpuTimeOf, isUnified, cgroups as top } from '../../../../tools/test-runner/machine/cgroup-cpu.mjs';
import { eventually } from '../../eventually.ts';
import { isAlive } from '../../processes/alive.ts';

const prefix = 'mediarooms-';
const removalTimeoutMs = 10_000;

/** @returns a name that is unique among runs */
export function cgroupName(host: string): string {
  return `${prefix}${process.pid}-${host}`;
}

export function makeCgroup(name: string): void {
  for (const hierarchy of hierarchies()) mkdirSync(join(hierarchy, name), { recursive: true });
  const cpus = join(top, 'cpuset');
  // In version 1 a cpuset accepts no process without these.
  if (existsSync(join(cpus, 'cpuset.cpus')))
    for (const file of ['cpuset.cpus', 'cpuset.mems']) writeFileSync(join(cpus, name, file), readFileSync(join(cpus, file)));
}

/** @returns CPU time used in the cgroup, in milliseconds; 0 if it does not exist */
export function computedIn(name: string): number {
  return existsSync(join(isUnified ? top : join(top, 'cpuacct'), name)) ? cpuTimeOf(name) : 0;
}

/** Its processes must have ended. @throws after the timeout */
export async function removeCgroup(name: string): Promise<void> {
  for (const hierarchy of hierarchies()) await removeTree(join(hierarchy, name));
}

export type Usage = { memoryBytes: number; cpuMs: number };

/** Memory (without page cache) and CPU time of a pod. @throws if it does not exist */
export function podUsage(name: string, uid: string): Usage {
  const root = isUnified ? top : join(top, 'memory');
  const paths = ['', 'burstable', 'besteffort'].map((quality) => join(name, 'kubepods', quality, `pod${uid}`));
  const path = paths.find((each) => existsSync(join(root, each)));
  if (path === undefined) throw new Error(`Pod ${uid} has no cgroup`);
  const memory = readFileSync(join(root, path, 'memory.stat'), 'utf8');
  const key = isUnified ? 'anon' : 'total_rss';
  return { memoryBytes: Number(new RegExp(`^${key} (\\d+)$`, 'm').exec(memory)?.[1]), cpuMs: cpuTimeOf(path) };
}

/** Deletes cgroups of ended runs, whose machines died with their process. */
export async function removeLeftCgroups(): Promise<void> {
  const names = new Set(hierarchies().flatMap((hierarchy) => readdirSync(hierarchy).filter((name) => name.startsWith(prefix))));
  for (const name of names) if (!isAlive(Number(name.slice(prefix.length).split('-')[0]))) await removeCgroup(name);
}

function hierarchies(): string[] {
  if (isUnified) return [top];
  return folders(top).map((name) => join(top, name));
}

/** Another file that starts a cluster may remove the same one. */
async function removeTree(path: string): Promise<void> {
  const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;
  let children: string[] = [];
  try {
    children = folders(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  for (const name of children) await removeTree(join(path, name));
  const remove = () => {
    try {
      rmdirSync(path);
    } catch (error) {
      // A process that just ended may still count for a moment.
      if (codeOf(error) === 'EBUSY') return false;
      if (codeOf(error) !== 'ENOENT') throw error;
    }
    return true;
  };
  await eventually(`${path} is unused`, remove, { within: removalTimeoutMs, every: 20 });
}

function folders(path: string): string[] {
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}
