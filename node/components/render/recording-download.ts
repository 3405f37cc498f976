// Download of archived recordings for rendering: fetches their files from S3 into a folder that is deleted after the work.
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../../api/errors.ts';
import { fileNameSchema, recordingIdSchema } from '../../../api/recording.ts';
import { maxReport, type Report, readReport } from '../../../api/recording-report.ts';
import { renderedName } from '../../../api/render.ts';
import { Timer } from '../../common/timer.ts';
import type { ContentResponse } from '../../rooms/services/content.ts';
import type { RenderSource } from '../../rooms/services/renders.ts';
import { reportName, reportText } from '../../storage/report-file.ts';
import { retryDelay, uploadSettings } from '../../storage/uploads/settings.ts';
import { readState, stateName } from './render-state.ts';

/** Milliseconds to retry S3: while other recordings are queued, and while none is. */
const fetchRetryTimeoutMs = 5 * 60_000;
const uploadRetryTimeoutMs = 3600_000;
/** Milliseconds for the download of all files of a recording. */
const fetchTimeoutMs = 2 * 3600_000;
/** Milliseconds for the download of a report: the client waits, and may be another node. */
const reportTimeoutMs = 4000;
/** Milliseconds for which the error of a failed rendering is kept. */
const rememberedFor = 24 * 3600_000;
/** Error codes of the disk; all other errors come from S3. */
const diskCodes = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EACCES', 'EPERM', 'ENOENT']);

export type ArchivedOptions = {
  /** Absolute path of the resources directory. */
  resources: string;
  /** Undefined if no S3 storage is configured. */
  archive: RenderSource | undefined;
};

type RetryOptions = {
  signal: AbortSignal;
  /** Called with the error each time S3 fails; the request is retried. */
  onWait: (message: string) => void;
};

export class RecordingDownloader {
  readonly #folder: string;
  readonly #archive: RenderSource | undefined;

  constructor({ resources, archive }: ArchivedOptions) {
    this.#folder = join(resources, 'renders');
    this.#archive = archive;
  }

  /** Work folder of a recording. `id`: id of the recording. */
  folderOf(id: string): string {
    return join(this.#folder, id);
  }

  /** Recordings in progress, orphaned or recently failed. */
  async ids(): Promise<string[]> {
    const names = await readdir(this.#folder).catch(() => []);
    return names.filter((name) => recordingIdSchema.safeParse(name).success);
  }

  /** @throws ServiceError `not_found`, `bad_request` if it has no report, `unavailable` if S3 does not respond */
  async report(id: string): Promise<Report> {
    if (!this.#archive?.isThere())
      throw new ServiceError('not_found', `Recording ${id} exists on no node, and server-wide S3 storage is not configured`);
    const answer = await this.#open(id, reportName, AbortSignal.timeout(reportTimeoutMs));
    if (!answer?.body) throw new ServiceError('not_found', `Recording ${id} does not exist on the disk of a node or in S3`);
    if (Number(answer.headers['content-length']) > maxReport) answer.body.destroy();
    const report = await text(answer.body).then(readReport, () => undefined);
    if (!report) throw new ServiceError('bad_request', `Recording ${id} cannot be rendered: its report.json is missing`);
    return report;
  }

  /** Creates the empty folder. @throws Error if the disk write fails */
  async begin(id: string): Promise<void> {
    const folder = this.folderOf(id);
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o750 });
  }

  /** Downloads its files. @throws ServiceError with the reason, Error if the disk write fails, the reason of `signal` */
  async fetch(id: string, { signal, onWait }: RetryOptions): Promise<void> {
    const late = new AbortController();
    const timer = new Timer(fetchTimeoutMs, () => late.abort());
    const ending = AbortSignal.any([signal, late.signal]);
    const retry = { signal: ending, onWait };
    try {
      const report = await persist(() => this.report(id), fetchRetryTimeoutMs, retry);
      const files = new Set(report.tracks.flatMap(({ file }) => (fileNameSchema.safeParse(file).success && file !== null ? [file] : [])));
      let bytes = 0;
      for (const file of files) bytes += await persist(() => this.#sizeOf(id, file, ending), fetchRetryTimeoutMs, retry);
      const folder = this.folderOf(id);
      await assertRoom(folder, bytes);
      await writeFile(join(folder, reportName), reportText(report), { mode: 0o640 });
      for (const file of files) await persist(() => this.#bring(id, file, ending), fetchRetryTimeoutMs, retry);
    } catch (error) {
      signal.throwIfAborted();
      if (late.signal.aborted) throw new ServiceError('unavailable', 'The download of the recording from S3 timed out');
      throw error;
    } finally {
      timer.stop();
    }
  }

  /**
   * Uploads the rendered file next to the recording, after deleting the local files of the recording. @throws ServiceError with the reason
   */
  async keep(id: string, rendered: NonNullable<Report['rendered']>, retry: RetryOptions): Promise<void> {
    const folder = this.folderOf(id);
    await empty(folder, [stateName, renderedName]);
    const change = (report: object) => ({ ...report, rendered });
    await persist(async () => this.#archive?.add(id, join(folder, renderedName), change, retry.signal), uploadRetryTimeoutMs, retry);
  }

  /** Deletes everything but the render state. Never rejects. */
  async clear(id: string): Promise<void> {
    const folder = this.folderOf(id);
    const said = await readState(folder);
    if (said === undefined || said.age > rememberedFor) await rm(folder, { recursive: true, force: true }).catch(() => {});
    else await empty(folder, [stateName]).catch(() => {});
  }

  /** Deletes the error of a failed rendering. Never rejects. */
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

  /** A missing file is skipped; the renderer reports it. */
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
      throw new ServiceError('unavailable', 'Could not download the recording from S3: the connection was closed', { cause: error });
    }
    if (target.bytesWritten !== Number(answer.headers['content-length']))
      throw new ServiceError('unavailable', 'Could not download the recording from S3: a file is incomplete');
  }
}

/** Half of the free space stays reserved for the rendered file and other use. @throws ServiceError */
async function assertRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (bytes <= free / 2) return;
  const megabytes = (size: number) => Math.ceil(size / 1e6);
  throw new ServiceError(
    'unavailable',
    `The recording needs ${megabytes(bytes)} MB, but only half of the ${megabytes(free)} MB of free disk space may be used`,
  );
}

/** Deletes all files except these. */
async function empty(folder: string, but: readonly string[]): Promise<void> {
  const names = (await readdir(folder)).filter((name) => !but.includes(name));
  await Promise.all(names.map((name) => rm(join(folder, name), { recursive: true, force: true })));
}

/** Retries with back-off for up to `timeoutMs`, while S3 is the cause. @throws the last error, or the reason of the signal */
async function persist<Result>(run: () => Promise<Result>, timeoutMs: number, { signal, onWait }: RetryOptions): Promise<Result> {
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
