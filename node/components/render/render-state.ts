// Render state of a recording: stored next to its files, so that it survives the node that rendered it.
import { randomBytes } from 'node:crypto';
import { readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { renderProblemsSchema } from '../../../api/recording.ts';
import { maxReasonLength, renderedName } from '../../../api/render.ts';

export const stateName = '.render.json';
/** Milliseconds between two heartbeats, and without one after which the work counts as orphaned. */
export const heartbeatInterval = 10_000;
export const heartbeatTimeoutMs = 60_000;
/** Maximum bytes of a state file. */
const maxBytes = 256 * 1024;

const stateSchema = z.discriminatedUnion('state', [
  z.object({ state: z.enum(['queued', 'running']), node: z.string() }),
  z.object({ state: z.literal('failed'), reason: z.string().max(maxReasonLength) }),
  z.object({ state: z.literal('done'), problems: renderProblemsSchema }),
]);
export type RenderState = z.infer<typeof stateSchema>;

/** State in a folder. `age`: milliseconds since its heartbeat; `fresh`: true if that is recent. Undefined if no valid state exists. */
export async function readState(folder: string): Promise<{ state: RenderState; fresh: boolean; age: number } | undefined> {
  try {
    const path = join(folder, stateName);
    const { size, mtimeMs } = await stat(path);
    if (size > maxBytes) return undefined;
    const age = Date.now() - mtimeMs;
    return { state: stateSchema.parse(JSON.parse(await readFile(path, 'utf8'))), fresh: age < heartbeatTimeoutMs, age };
  } catch {
    return undefined;
  }
}

/** Writes atomically. @throws Error if the disk write fails */
export async function writeState(folder: string, state: RenderState): Promise<void> {
  const temporary = join(folder, `${stateName}.${randomBytes(6).toString('hex')}`);
  try {
    await writeFile(temporary, JSON.stringify(state), { mode: 0o640 });
    await rename(temporary, join(folder, stateName));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Updates the heartbeat. Never rejects. */
export async function writeHeartbeat(folder: string): Promise<void> {
  const now = new Date();
  await utimes(join(folder, stateName), now, now).catch(() => {});
}

export async function removeState(folder: string): Promise<void> {
  await rm(join(folder, stateName), { force: true });
}

/** Deletes partial files of an ended process. */
export async function removeUnfinished(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const left = names.filter((name) => (name.startsWith(`.${renderedName}.`) && name.endsWith('.part')) || name.startsWith(`${stateName}.`));
  await Promise.all(left.map((name) => rm(join(folder, name), { force: true })));
}
