// cgroups (version 1 or 2) of the Kubernetes nodes of a cluster: created for kubelets, and deleted recursively, also those of killed runs.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../eventually.ts';
import { isRunning } from '../api-server.ts';

const top = '/sys/fs/cgroup';
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

/** Its processes must have ended. @throws after the timeout */
export async function removeCgroup(name: string): Promise<void> {
  for (const hierarchy of hierarchies()) await removeTree(join(hierarchy, name));
}

/** @returns CPU time used in the cgroup, in milliseconds; 0 if it does not exist */
export function computedIn(name: string): number {
  const unified = existsSync(join(top, 'cgroup.controllers'));
  const file = unified ? join(top, name, 'cpu.stat') : join(top, 'cpuacct', name, 'cpuacct.usage');
  if (!existsSync(file)) return 0;
  const text = readFileSync(file, 'utf8');
  return unified ? Number(/^usage_usec (\d+)$/m.exec(text)?.[1]) / 1e3 : Number(text) / 1e6;
}

export type Usage = { memoryBytes: number; cpuMs: number };

/** Memory (without page cache) and CPU time of a pod. @throws if it does not exist */
export function podUsage(name: string, uid: string): Usage {
  const read = (controller: string, file: string) => {
    const root = join(existsSync(join(top, 'cgroup.controllers')) ? top : join(top, controller), name, 'kubepods');
    const folder = ['', 'burstable', 'besteffort'].map((quality) => join(root, quality, `pod${uid}`)).find((path) => existsSync(path));
    if (folder === undefined) throw new Error(`Pod ${uid} has no cgroup`);
    return readFileSync(join(folder, file), 'utf8');
  };
  const field = (text: string, key: string) => Number(new RegExp(`^${key} (\\d+)$`, 'm').exec(text)?.[1]);
  if (existsSync(join(top, 'cgroup.controllers')))
    return { memoryBytes: field(read('', 'memory.stat'), 'anon'), cpuMs: field(read('', 'cpu.stat'), 'usage_usec') / 1e3 };
  return { memoryBytes: field(read('memory', 'memory.stat'), 'total_rss'), cpuMs: Number(read('cpuacct', 'cpuacct.usage')) / 1e6 };
}

/** Deletes cgroups of ended runs, whose machines died with their process. */
export async function removeLeftCgroups(): Promise<void> {
  const names = new Set(hierarchies().flatMap((hierarchy) => readdirSync(hierarchy).filter((name) => name.startsWith(prefix))));
  for (const name of names) if (!isRunning(Number(name.slice(prefix.length).split('-')[0]))) await removeCgroup(name);
}

function hierarchies(): string[] {
  if (existsSync(join(top, 'cgroup.controllers'))) return [top];
  return folders(top).map((name) => join(top, name));
}

async function removeTree(path: string): Promise<void> {
  if (!existsSync(path)) return;
  for (const name of folders(path)) await removeTree(join(path, name));
  const remove = () => {
    try {
      rmdirSync(path);
      return true;
    } catch (error) {
      // A process that just ended may still count for a moment.
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
      return false;
    }
  };
  await eventually(`${path} is unused`, remove, { within: removalTimeoutMs, every: 20 });
}

function folders(path: string): string[] {
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}
