// What has become of rendering a recording, beside its files: it is known after the node that rendered it has died.
import { randomBytes } from 'node:crypto';
import { readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { renderedName } from '../../rooms/shapes/renders.ts';

export const stateName = '.render.json';
/** Milliseconds between two signs of life, and without one after which nobody renders it any more. */
export const heartbeatInterval = 10_000;
export const heartbeatTimeoutMs = 60_000;
/** Bytes of a state that is read. */
const maxBytes = 256 * 1024;

const problems = z.array(z.string().max(1000)).max(100);
const stateSchema = z.discriminatedUnion('state', [
  z.object({ state: z.enum(['queued', 'running']), node: z.string() }),
  z.object({ state: z.literal('failed'), reason: z.string().max(500) }),
  z.object({ state: z.literal('done'), problems }),
]);
export type RenderState = z.infer<typeof stateSchema>;

/** Of a folder. `age`: milliseconds since it was touched; `fresh`: whether that was lately. Undefined where there is none that can be read. */
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

/** All of it or nothing. @throws Error where the disk refuses */
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

/** A sign of life. Never fails. */
export async function writeHeartbeat(folder: string): Promise<void> {
  const now = new Date();
  await utimes(join(folder, stateName), now, now).catch(() => {});
}

export async function removeState(folder: string): Promise<void> {
  await rm(join(folder, stateName), { force: true });
}

/** What a process that died left of its work. */
export async function removeUnfinished(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const left = names.filter((name) => (name.startsWith(`.${renderedName}.`) && name.endsWith('.part')) || name.startsWith(`${stateName}.`));
  await Promise.all(left.map((name) => rm(join(folder, name), { force: true })));
}
