// Container CPU: share of its cores that the container of this node uses, from its cgroup; outside of a container that of the host.
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { CpuMeter } from './cpu-meter.ts';

/** Minimum interval of a measurement in milliseconds. Shorter ones are too noisy. */
const span = 500;

export type ContainerCpuOptions = {
  root?: string;
  /** Cores of the host. */
  cores?: number;
  /** Monotonic milliseconds. */
  now?: () => number;
};

export class ContainerCpu {
  readonly #root: string;
  readonly #cores: number;
  readonly #now: () => number;
  readonly #host = new CpuMeter();
  #before: { at: number; usedMs: number } | undefined;
  #load = 0;

  constructor({ root = '/sys/fs/cgroup', cores = availableParallelism(), now = () => performance.now() }: ContainerCpuOptions = {}) {
    this.#root = root;
    this.#cores = cores;
    this.#now = now;
  }

  /** Since the last measurement, 0 to 1; the first one returns 0. */
  async read(): Promise<number> {
    const usedMs = await this.#usedMs();
    if (usedMs === undefined) return this.#host.read();
    const at = this.#now();
    const before = this.#before;
    if (before && at - before.at < span) return this.#load;
    this.#before = { at, usedMs };
    if (!before) return this.#load;
    const cores = Math.min(this.#cores, (await cgroupCores(this.#root)) ?? this.#cores);
    this.#load = Math.min(1, Math.max(0, (usedMs - before.usedMs) / (at - before.at) / cores));
    return this.#load;
  }

  /** CPU time of all processes of the container, in versions 2 and 1 of cgroups. */
  async #usedMs(): Promise<number | undefined> {
    const microseconds = /^usage_usec (\d+)$/m.exec(await text(this.#root, 'cpu.stat'))?.[1];
    if (microseconds !== undefined) return Number(microseconds) / 1_000;
    const nanoseconds = (await text(this.#root, 'cpuacct/cpuacct.usage')).trim();
    return nanoseconds === '' ? undefined : Number(nanoseconds) / 1_000_000;
  }
}

/** Cores that a cgroup allows, which `availableParallelism()` ignores. Undefined without a limit. */
export async function cgroupCores(root = '/sys/fs/cgroup'): Promise<number | undefined> {
  // Version 2 has `<quota> <period>` in one file, version 1 two files with microseconds.
  const [quota, period] = (await text(root, 'cpu.max')).trim().split(' ');
  const limits = [
    Number(quota) / Number(period),
    Number(await text(root, 'cpu/cpu.cfs_quota_us')) / Number(await text(root, 'cpu/cpu.cfs_period_us')),
  ].filter((limit) => limit > 0 && Number.isFinite(limit));
  return limits.length > 0 ? Math.min(...limits) : undefined;
}

/** Empty if it does not exist. */
function text(root: string, name: string): Promise<string> {
  return readFile(join(root, name), 'utf8').catch(() => '');
}
