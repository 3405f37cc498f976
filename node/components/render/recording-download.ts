// Recordings that only S3 has, while they are rendered: their files come into a folder of this node, which goes with the work on them.
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../common/errors.ts';
import { Timer } from '../../common/timer.ts';
import { type ContentResponse, fileNameSchema, recordingIdSchema } from '../../rooms/shapes/content.ts';
import { maxReport, type Report, readReport } from '../../rooms/shapes/recording-report.ts';
import { type RenderSource, renderedName } from '../../rooms/shapes/renders.ts';
import { reportName, reportText } from '../../storage/report-file.ts';
import { retryDelay, uploadSettings } from '../../storage/uploads/settings.ts';
import { readState, stateName } from './render-state.ts';

/** Milliseconds that S3 may fail: while others wait for their turn, and while they do not. */
const fetchRetryTimeoutMs = 5 * 60_000;
const uploadRetryTimeoutMs = 3600_000;
/** Milliseconds that the files of one recording may take to come. */
const fetchTimeoutMs = 2 * 3600_000;
/** Milliseconds of a report to come: whoever asked waits, and may be another node. */
const reportTimeoutMs = 4000;
/** Milliseconds that it is remembered why a rendering failed. */
const rememberedFor = 24 * 3600_000;
/** What the disk says; all else came from S3. */
const diskCodes = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EACCES', 'EPERM', 'ENOENT']);

export type ArchivedOptions = {
  /** Absolute path of the resources directory. */
  resources: string;
  /** Without one there are none. */
  archive: RenderSource | undefined;
};

type Going = {
  signal: AbortSignal;
  /** S3 failed and is tried again; a sentence. */
  onWait: (sentence: string) => void;
};

export class RecordingDownloader {
  readonly #folder: string;
  readonly #archive: RenderSource | undefined;

  constructor({ resources, archive }: ArchivedOptions) {
    this.#folder = join(resources, 'renders');
    this.#archive = archive;
  }

  /** Where the work on one is done. `id`: as recordings are named. */
  folderOf(id: string): string {
    return join(this.#folder, id);
  }

  /** Those that are worked on, or were by a process that ended, or whose failure is remembered. */
  async ids(): Promise<string[]> {
    const names = await readdir(this.#folder).catch(() => []);
    return names.filter((name) => recordingIdSchema.safeParse(name).success);
  }

  /** @throws ServiceError `not_found`, `bad_request` where nobody knows what it is, `unavailable` where S3 does not answer */
  async report(id: string): Promise<Report> {
    if (!this.#archive?.isThere())
      throw new ServiceError(
        'not_found',
        `Recording ${id} is on the disk of no node, and the server has no S3 storage of its own to fetch it from`,
      );
    const answer = await this.#open(id, reportName, AbortSignal.timeout(reportTimeoutMs));
    if (!answer?.body) throw new ServiceError('not_found', `Recording ${id} does not exist, neither on the disk of a node nor in S3`);
    if (Number(answer.headers['content-length']) > maxReport) answer.body.destroy();
    const report = await text(answer.body).then(readReport, () => undefined);
    if (!report) throw new ServiceError('bad_request', `Recording ${id} has no report: nobody knows what belongs where`);
    return report;
  }

  /** Makes the folder, with nothing in it. @throws Error where the disk refuses */
  async begin(id: string): Promise<void> {
    const folder = this.folderOf(id);
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o750 });
  }

  /** Brings its files here. @throws ServiceError with why not, Error where the disk refuses, the reason of `signal` */
  async fetch(id: string, { signal, onWait }: Going): Promise<void> {
    const late = new AbortController();
    const timer = new Timer(fetchTimeoutMs, () => late.abort());
    const ending = AbortSignal.any([signal, late.signal]);
    const going = { signal: ending, onWait };
    try {
      const report = await persist(() => this.report(id), fetchRetryTimeoutMs, going);
      const files = new Set(report.tracks.flatMap(({ file }) => (fileNameSchema.safeParse(file).success && file !== null ? [file] : [])));
      let bytes = 0;
      for (const file of files) bytes += await persist(() => this.#sizeOf(id, file, ending), fetchRetryTimeoutMs, going);
      const folder = this.folderOf(id);
      await assertRoom(folder, bytes);
      await writeFile(join(folder, reportName), reportText(report), { mode: 0o640 });
      for (const file of files) await persist(() => this.#bring(id, file, ending), fetchRetryTimeoutMs, going);
    } catch (error) {
      signal.throwIfAborted();
      if (late.signal.aborted) throw new ServiceError('unavailable', 'The recording did not come from S3 in time');
      throw error;
    } finally {
      timer.stop();
    }
  }

  /** Puts what was rendered to where the recording is; the files of the recording go from here first. @throws ServiceError with why not */
  async keep(id: string, rendered: NonNullable<Report['rendered']>, going: Going): Promise<void> {
    const folder = this.folderOf(id);
    await empty(folder, [stateName, renderedName]);
    const change = (report: object) => ({ ...report, rendered });
    await persist(async () => this.#archive?.add(id, join(folder, renderedName), change, going.signal), uploadRetryTimeoutMs, going);
  }

  /** Nothing of it stays but what is said of it, if anything is. Never fails. */
  async clear(id: string): Promise<void> {
    const folder = this.folderOf(id);
    const said = await readState(folder);
    if (said === undefined || said.age > rememberedFor) await rm(folder, { recursive: true, force: true }).catch(() => {});
    else await empty(folder, [stateName]).catch(() => {});
  }

  /** Why it failed, if it did. Never fails. */
  async forget(id: string): Promise<void> {
    const folder = this.folderOf(id);
    if ((await readState(folder))?.state.state === 'failed') await rm(folder, { recursive: true, force: true }).catch(() => {});
  }

  async #open(id: string, file: string, signal: AbortSignal, method: 'GET' | 'HEAD' = 'GET'): Promise<ContentResponse | undefined> {
    const request = {
      kind: 'recording',
      folder: id,
      file,
      method,
      range: undefined,
      ifRange: undefined,
      client: '',
      forwarded: false,
    } as const;
    return this.#archive?.open({ ...request, signal });
  }

  async #sizeOf(id: string, file: string, signal: AbortSignal): Promise<number> {
    return Number((await this.#open(id, file, signal, 'HEAD'))?.headers['content-length'] ?? 0);
  }

  /** A file that is missing is left out: whoever renders says so. */
  async #bring(id: string, file: string, signal: AbortSignal): Promise<void> {
    const folder = this.folderOf(id);
    const answer = await this.#open(id, file, signal);
    if (!answer?.body) return;
    const path = join(folder, file);
    const target = createWriteStream(path, { mode: 0o640 });
    try {
      await pipeline(answer.body, target, { signal });
    } catch (error) {
      signal.throwIfAborted();
      if (diskCodes.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
      throw new ServiceError('unavailable', 'The files of the recording do not come from S3: the connection breaks', { cause: error });
    }
    if (target.bytesWritten !== Number(answer.headers['content-length']))
      throw new ServiceError('unavailable', 'The files of the recording do not come from S3 as a whole');
  }
}

/** Half of what is free stays for what is rendered and for all else. @throws ServiceError */
async function assertRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (bytes <= free / 2) return;
  const megabytes = (size: number) => Math.ceil(size / 1e6);
  throw new ServiceError(
    'unavailable',
    `The recording has ${megabytes(bytes)} MB, and the disk of this node has ${megabytes(free)} MB free, of which half is to stay`,
  );
}

/** Without these files. */
async function empty(folder: string, but: readonly string[]): Promise<void> {
  const names = (await readdir(folder)).filter((name) => !but.includes(name));
  await Promise.all(names.map((name) => rm(join(folder, name), { recursive: true, force: true })));
}

/** Again and again with back-off, for so many milliseconds, while S3 is what fails. @throws what the last try did, or the reason of the signal */
async function persist<Result>(run: () => Promise<Result>, timeoutMs: number, { signal, onWait }: Going): Promise<Result> {
  const began = performance.now();
  for (let failures = 1; ; failures += 1) {
    try {
      return await run();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ServiceError) || error.code !== 'unavailable' || performance.now() - began > timeoutMs) throw error;
      onWait(error.message);
      await sleep(retryDelay(failures, uploadSettings, Math.random()), undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}
