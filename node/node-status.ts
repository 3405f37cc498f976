// Node status: whether the node works, with a human-readable reason if not.
import { access, constants, statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HealthView } from '../api/health.ts';

/** Free bytes below which the disk counts as full. */
const minFreeBytes = 16 * 1024;
/** Timeout of a disk check, in milliseconds. */
const diskTimeoutMs = 2_000;

export type StatusFacts = {
  state: HealthView['state'];
  /** Result of `/readyz`. */
  ready: boolean;
  workers: readonly { state: string }[];
  /** From diskProblem(). */
  disk: string | undefined;
};

export function statusOf({ state, ready, workers, disk }: StatusFacts): Pick<HealthView, 'status' | 'reason'> {
  const media = workers.some((worker) => worker.state === 'running') ? undefined : 'No media worker is running';
  const problems = [media, disk].filter((problem) => problem !== undefined).join('; ');
  if (state === 'draining') return { status: 'DRAINING', reason: 'The node is draining and accepts no new rooms' };
  if (state === 'terminating') return { status: 'DRAINING', reason: 'The node is shutting down and accepts no new rooms' };
  if (problems !== '') return { status: 'DEGRADED', reason: problems };
  if (!ready) return { status: 'STARTING', reason: 'The node is discovering its addresses or other nodes' };
  return { status: 'UP', reason: null };
}

/** Why the folder cannot be written; undefined if it can. */
export async function diskProblem(folder: string): Promise<string | undefined> {
  const answered = new AbortController();
  const late = sleep(diskTimeoutMs, 'SVC_RESOURCES_BASE_PATH does not respond', { signal: answered.signal }).catch(() => undefined);
  try {
    return await Promise.race([checkFolder(folder), late]);
  } finally {
    answered.abort();
  }
}

async function checkFolder(folder: string): Promise<string | undefined> {
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize < minFreeBytes ? 'The disk of SVC_RESOURCES_BASE_PATH is full' : undefined;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'an error';
    return `SVC_RESOURCES_BASE_PATH cannot be written to: ${code}`;
  }
}
