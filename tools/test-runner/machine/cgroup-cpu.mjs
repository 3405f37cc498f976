// CPU time of a Linux control group, of version 1 or 2.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const cgroups = '/sys/fs/cgroup';
/** Version 2 of control groups has one hierarchy; version 1 has one per controller, or for several. Folder names are the same. */
export const isUnified = existsSync(join(cgroups, 'cgroup.controllers'));

/**
 * @param {string} path of the group in its hierarchy
 * @returns {number} CPU time of all processes of the group, in milliseconds
 * @throws if the group does not exist
 */
export function cpuTimeOf(path) {
  if (!isUnified) return Number(readFileSync(join(cgroups, 'cpuacct', path, 'cpuacct.usage'), 'utf8')) / 1e6;
  return Number(/^usage_usec (\d+)$/m.exec(readFileSync(join(cgroups, path, 'cpu.stat'), 'utf8'))?.[1]) / 1e3;
}
