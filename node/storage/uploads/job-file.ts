// Upload jobs on disk, so that uploads continue after a restart: one file per folder, including the keys of its storage.
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { s3TargetSchema } from '../../../api/component/s3-target.ts';
import { recordingIdSchema } from '../../../api/recording.ts';

const plainName = z.string().regex(/^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,254}$/);
const time = z.number().min(0);
/** Times are milliseconds since 1970. `place`: null = the storage of the node. */
const jobSchema = z.strictObject({
  id: recordingIdSchema,
  kind: z.enum(['recording', 'hls']),
  roomId: z.string().max(256),
  incarnation: z.string().max(256),
  componentId: z.string().max(256),
  webhookUrl: z.string().max(4096).nullable(),
  // Tolerates prefixes that are not valid any more, so that no upload is lost.
  place: s3TargetSchema.extend({ pathPrefix: z.string().max(512).optional() }).nullable(),
  /** Path segments below the resources directory. */
  folder: z.array(plainName).min(1).max(8),
  /** The process that owns the job. */
  owner: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  /** When its files were complete; null before. */
  finishedAt: time.nullable(),
  /** All its objects in S3 must be deleted. */
  discarded: z.boolean(),
  /** Its end was reported before; files were added since. */
  told: z.literal(true).optional(),
  /** The rejection by the storage was reported. */
  refused: z.literal(true).optional(),
});
export type Job = z.infer<typeof jobSchema>;

/** Heartbeat interval of a process in milliseconds, and timeout after which it counts as lost. */
export const heartbeatInterval = 2000;
const orphanedAfterMs = 10_000;
/** Age after which heartbeats of lost processes are deleted. */
const oldSign = 24 * 3600_000;

export class JobFiles {
  /** Unique per process. */
  readonly owner = randomBytes(9).toString('base64url');
  readonly #folder: string;
  readonly #kept: string;
  #signedAt = Number.NEGATIVE_INFINITY;

  constructor(resources: string) {
    this.#folder = join(resources, 'uploads');
    this.#kept = join(this.#folder, 'kept');
  }

  /** @throws Error of the disk */
  async save(job: Job): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await this.heartbeat();
    const temporary = join(this.#folder, `.${job.id}.${this.owner}`);
    const file = await open(temporary, 'w', 0o600);
    try {
      await file.writeFile(JSON.stringify(job));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, this.#path(job.id));
  }

  async remove(id: string): Promise<void> {
    await rm(this.#path(id), { force: true });
  }

  /** Keeps the storage and keys of a finished upload while its folder exists. @throws Error of the disk */
  async keep(job: Job): Promise<void> {
    await mkdir(this.#kept, { recursive: true, mode: 0o700 });
    const temporary = join(this.#kept, `.${job.id}.${this.owner}`);
    await writeFile(temporary, JSON.stringify(job), { mode: 0o600 });
    await rename(temporary, join(this.#kept, `${job.id}.json`));
  }

  async kept(id: string): Promise<Job | undefined> {
    const job = await readJob(join(this.#kept, `${id}.json`));
    return job === 'unreadable' ? undefined : job;
  }

  /** Deletes kept jobs of deleted folders. `isThere`: true if the folder of the id exists. */
  async forget(isThere: (id: string) => Promise<boolean>): Promise<void> {
    for (const name of await readdir(this.#kept).catch(() => [])) {
      const path = join(this.#kept, name);
      // Temporary files may be just being written.
      const goes = name.startsWith('.') ? await isOlder(path, orphanedAfterMs) : !(await isThere(name.slice(0, -'.json'.length)));
      if (goes) await rm(path, { force: true });
    }
  }

  /** Writes the heartbeat, unless one was written just before. */
  async heartbeat(): Promise<void> {
    if (performance.now() - this.#signedAt < heartbeatInterval) return;
    this.#signedAt = performance.now();
    const path = this.#sign(this.owner);
    const now = new Date();
    await utimes(path, now, now).catch(() => writeFile(path, '', { mode: 0o600 }));
  }

  /** Releases the jobs of this process for other processes. */
  async leave(): Promise<void> {
    await rm(this.#sign(this.owner), { force: true });
  }

  /** Jobs of lost processes. `unreadable`: files with invalid content. */
  async abandoned(): Promise<{ jobs: Job[]; unreadable: string[] }> {
    const names: string[] = await readdir(this.#folder).catch(() => []);
    const alive = await this.#alive(names);
    const jobs: Job[] = [];
    const unreadable: string[] = [];
    for (const name of names) {
      if (!name.endsWith('.json') || name.startsWith('.')) continue;
      const job = await readJob(join(this.#folder, name));
      if (job === 'unreadable') unreadable.push(name);
      else if (job && !alive.has(job.owner) && name === `${job.id}.json`) jobs.push(job);
    }
    return { jobs, unreadable };
  }

  /** Takes over a job of a lost process. @returns undefined if another process was faster */
  async claim(id: string): Promise<Job | undefined> {
    const held = join(this.#folder, `.claim-${id}.${this.owner}`);
    // Exactly one of the competing processes succeeds.
    const got = await rename(this.#path(id), held).then(
      () => true,
      () => false,
    );
    if (!got) return undefined;
    const job = await readJob(held);
    const alive = await this.#alive(await readdir(this.#folder));
    if (job === undefined || job === 'unreadable' || alive.has(job.owner)) {
      await rename(held, this.#path(id));
      return undefined;
    }
    const mine = { ...job, owner: this.owner };
    await this.save(mine);
    await rm(held, { force: true });
    return mine;
  }

  /** Returns jobs that a lost process was claiming, and deletes its temporary files. */
  async tidy(): Promise<void> {
    const names: string[] = await readdir(this.#folder).catch(() => []);
    const alive = await this.#alive(names);
    for (const name of names) {
      const [, id, owner] = /^\.claim-(.+)\.([A-Za-z0-9_-]+)$/.exec(name) ?? [];
      if (id !== undefined && owner !== undefined && owner !== this.owner && !alive.has(owner)) {
        if (!names.includes(`${id}.json`)) await rename(join(this.#folder, name), this.#path(id)).catch(() => {});
        else await rm(join(this.#folder, name), { force: true });
      }
      // Incomplete file.
      const [, writer] = /^\.(?!claim-).+\.([A-Za-z0-9_-]+)$/.exec(name) ?? [];
      if (writer !== undefined && writer !== 'alive' && !alive.has(writer)) await rm(join(this.#folder, name), { force: true });
      if (!name.endsWith('.alive')) continue;
      if (await isOlder(join(this.#folder, name), oldSign)) await rm(join(this.#folder, name), { force: true });
    }
  }

  async #alive(names: readonly string[]): Promise<Set<string>> {
    const alive = new Set([this.owner]);
    for (const name of names) {
      const [, owner] = /^\.(.+)\.alive$/.exec(name) ?? [];
      if (owner === undefined) continue;
      const found = await stat(join(this.#folder, name)).catch(() => undefined);
      if (found && Date.now() - found.mtimeMs < orphanedAfterMs) alive.add(owner);
    }
    return alive;
  }

  #path(id: string): string {
    return join(this.#folder, `${id}.json`);
  }

  #sign(owner: string): string {
    return join(this.#folder, `.${owner}.alive`);
  }
}

/** `age`: milliseconds since the last change. False for a missing file. */
async function isOlder(path: string, age: number): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > age;
}

async function readJob(path: string): Promise<Job | 'unreadable' | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return jobSchema.parse(JSON.parse(text));
  } catch {
    return 'unreadable';
  }
}
