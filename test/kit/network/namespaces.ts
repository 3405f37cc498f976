// Network namespaces of a test, by name: names are unique among running processes, and what ended processes left is removed. Requires root.
import { existsSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from '../processes/alive.ts';
import { runCommand } from '../processes/command.ts';

/** All network namespaces share the names in this folder (ip-netns(8)). */
const namesDir = '/run/netns';

let count = 0;
let removed: Promise<unknown> | undefined;

/** Runs ip(8). @throws if it fails */
export const ip = (...args: string[]) => runCommand(['ip', ...args]);

/** @returns an id for names of devices and namespaces, at most 10 characters for process ids below 2^22 */
export async function claimId(): Promise<string> {
  removed ??= removeLeft();
  await removed;
  count += 1;
  return `${process.pid}v${count}`;
}

/** The link is removed with the namespace, or with the programs that still run in it. */
export async function removeNamespace(name: string): Promise<void> {
  await ip('-n', name, 'link', 'del', 'eth0').catch(() => {});
  await ip('netns', 'del', name).catch(() => {});
  await rm(filesOf(name), { recursive: true, force: true });
}

/** Folder of the files that replace those of /etc in the namespace (ip-netns(8)). */
export function filesOf(name: string): string {
  return join('/etc/netns', name);
}

/** An interrupted run leaves its namespaces, and process ids return. */
async function removeLeft(): Promise<void> {
  const names = existsSync(namesDir) ? readdirSync(namesDir) : [];
  for (const name of names) {
    const pid = Number(/^mr-(\d+)v/.exec(name)?.[1]);
    if (pid === process.pid || (pid > 0 && !isAlive(pid))) await removeNamespace(name);
  }
}
