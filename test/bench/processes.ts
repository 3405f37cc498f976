// Benchmark processes: a node pinned to one core, and baseline servers.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import '../kit/processes/worker-bin.ts';
import { residentBytes } from '../../node/common/resident-memory.ts';

export const benchToken = 'the-api-token-of-a-benchmark';

export type BenchProcess = { pid: number; url: string; stop: () => Promise<void> };

/** A node in a separate process on core 0; the load uses the other core. */
export async function startPinnedNode(env: Record<string, string> = {}): Promise<BenchProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'mediarooms-bench-'));
  const node = await startPinned([join(import.meta.dirname, '../../node/main.ts')], /"url":"([^"]+)"/, {
    SVC_PORT: '0',
    SVC_METRICS_PORT: '0',
    SVC_SERVER_API_TOKEN: benchToken,
    SVC_WEBRTC_WORKERS: '1',
    SVC_STRUCTURED_LOGGING: 'true',
    SVC_LOG_LEVEL: 'info',
    SVC_RESOURCES_BASE_PATH: folder,
    SVC_RATE_LIMIT_SOCKET: 'none',
    ...env,
  });
  return {
    ...node,
    stop: async () => {
      await node.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A program on core 0 that prints its URL. */
export async function startPinned(args: readonly string[], urlPattern: RegExp, env: Record<string, string> = {}): Promise<BenchProcess> {
  const child = spawn('taskset', ['-c', '0', process.execPath, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const found = line.includes('configuration') ? undefined : urlPattern.exec(line)?.[1];
      if (found) resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`the process exited with code ${code}`)));
  });
  return { pid: child.pid ?? 0, url, stop: () => endProcess(child) };
}

/** Moves this process, or another one, away from core 0. */
export function moveToOtherCore(pid = process.pid): void {
  execFileSync('taskset', ['-a', '-cp', '1', String(pid)], { stdio: 'ignore' });
}

/** Resident memory of a process and its children, in bytes. */
export function residentMemory(pid: number): number {
  return childrenOf(pid).reduce((sum, child) => sum + residentMemory(child), residentBytes(pid) ?? 0);
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
}

/** The kernel reports hundredths of a second to user space, independent of its own tick. */
export const tickMs = 10;

/** Milliseconds, as fields 14 to 17 of /proc/PID/stat: user and system time of a process, and of its children that ended. */
function cpuTimes(pid: number): number[] {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return fields.slice(11, 15).map((field) => Number(field) * tickMs);
}

/** CPU time of a process in milliseconds, including ended threads. */
export function usedCpu(pid: number): number {
  const [user = 0, system = 0] = cpuTimes(pid);
  return user + system;
}

/** CPU time of a process and its descendants in milliseconds, also of those that ended. */
export function usedCpuOfTree(pid: number): number {
  const own = cpuTimes(pid).reduce((sum, time) => sum + time, 0);
  return childrenOf(pid).reduce((sum, child) => sum + usedCpuOfTree(child), own);
}

/** Cores that processes use over `time` milliseconds, and their memory in bytes at the end. */
export async function watchProcesses(pids: readonly number[], time: number): Promise<{ cores: number[]; memory: number[] }> {
  const [before, start] = [pids.map(usedCpu), performance.now()];
  await sleep(time);
  const elapsed = performance.now() - start;
  return { cores: pids.map((pid, index) => (usedCpu(pid) - (before[index] ?? 0)) / elapsed), memory: pids.map(residentMemory) };
}

/** Process id of the child that runs a module of this name. */
export function childRunning(pid: number, name: string): number {
  const found = childrenOf(pid).find((child) => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes(name));
  if (found === undefined) throw new Error(`no child process runs ${name}`);
  return found;
}

/** Sends SIGTERM, and SIGKILL 20 s later. */
export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
  await ended;
  clearTimeout(timer);
}
