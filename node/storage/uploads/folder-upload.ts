// Folder upload: uploads chunks of growing files, then whole files, finally all missing ones, with retries.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileNameSchema, type UploadState } from '../../../api/recording.ts';
import { renderedName } from '../../../api/render.ts';
import type { Log } from '../../common/log.ts';
import { Timer } from '../../common/timer.ts';
import { markerOf } from '../own-folders.ts';
import {
  markUploadPending,
  type ReportFile,
  readReportFile,
  reportName,
  reportText,
  updateReportFile,
  writeUploadState,
} from '../report-file.ts';
import { StorageError } from '../s3/s3-errors.ts';
import type { S3Store } from '../s3/s3-store.ts';
import type { Upload } from '../upload.ts';
import { chunkName, listChunks, parseChunk } from './chunks.ts';
import { type Failure, Failures } from './failures.ts';
import type { Job } from './job-file.ts';
import type { Semaphore } from './semaphore.ts';
import type { UploadSettings } from './settings.ts';

export type Outcome = 'done' | 'discarded' | { failed: string };

export type FolderUploadOptions = {
  log: Log;
  job: Job;
  /** Absolute path. */
  folder: string;
  /** True if a previous process started it. */
  resumed: boolean;
  /** The current storage. @throws StorageError if the node has none any more */
  store: () => S3Store;
  slots: Semaphore;
  settings: UploadSettings;
  /** The job changed and must be written to disk. */
  save: (folder: string) => Promise<void>;
  onFailure: () => void;
  /** See UploadPlan. */
  onProblem: (problem: string | null) => void;
  /** The storage rejects the upload until the operator changes something; called at most once per job. Attempts continue anyway. */
  onRefused: (problem: string) => void;
  /** The upload has ended and its report is updated; called at most once. */
  onOver: (outcome: Outcome) => void;
};

type Whole = { dueAt: number };
type Growing = { sent: number; dueAt: number };
type Version = { size: number; mtimeMs: number };
/** `run` returns true if data was uploaded. */
type Step = { dueAt: number; run: () => Promise<boolean> };

/** Maximum bytes of a chunk. */
const chunkSize = 8 * 1024 * 1024;
/** Files whose content may change while the size stays the same. */
const isChanging = (file: string) => file === renderedName || /\.(json|m3u8)$/.test(file);

export class FolderUpload implements Upload {
  readonly #options: FolderUploadOptions;
  readonly #whole = new Map<string, Whole>();
  readonly #growing = new Map<string, Growing>();
  /** Size and time of uploaded versions. */
  readonly #up = new Map<string, Version>();
  readonly #chunked = new Set<string>();
  readonly #stop = new AbortController();
  /** Aborts the current transfer. */
  #current = new AbortController();
  #folder: string;
  readonly #failures: Failures;
  #reportedProblem: string | null = null;
  #marked: string | undefined;
  #claimed = false;
  /** Files were added or changed after the last check for missing files. */
  #more = false;
  #wake: (() => void) | undefined;
  readonly #over: Promise<void>;

  constructor(options: FolderUploadOptions) {
    this.#options = options;
    this.#folder = options.folder;
    this.#failures = new Failures(options.settings);
    this.#over = this.#run();
  }

  /** True if the last attempt succeeded. */
  get retryable(): boolean {
    return this.#failures.count === 0;
  }

  get finished(): boolean {
    return this.#options.job.finishedAt !== null;
  }

  fileGrew(file: string): void {
    if (this.#growing.has(file) || this.#whole.has(file)) return;
    this.#growing.set(file, { sent: 0, dueAt: performance.now() + this.#options.settings.growth });
    this.#wake?.();
  }

  add(file: string): void {
    this.#growing.delete(file);
    if (this.#whole.has(file)) return;
    this.#whole.set(file, { dueAt: performance.now() + (this.#up.has(file) ? this.#options.settings.again : 0) });
    this.#wake?.();
  }

  relocated(folder: string): void {
    this.#folder = folder;
    this.#save();
  }

  finish(): void {
    const { job } = this.#options;
    if (job.finishedAt !== null) return;
    job.finishedAt = Date.now();
    this.#save();
    this.#wake?.();
  }

  /** After finish(): a file was added or changed. The upload ends only after it is uploaded too. @throws Error of the disk */
  async more(): Promise<void> {
    this.#more = true;
    await updateReportFile(this.#folder, markUploadPending);
  }

  discard(): void {
    const { job } = this.#options;
    if (job.discarded) return;
    job.discarded = true;
    job.finishedAt ??= Date.now();
    this.#failures.clear();
    this.#save();
    this.#current.abort();
    this.#wake?.();
  }

  /** Stops. The job stays on disk for the next process. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#current.abort();
    this.#wake?.();
    await this.#over;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const step = this.#next();
      const wait = (step?.dueAt ?? Number.POSITIVE_INFINITY) - performance.now();
      if (!step || wait > 0) {
        await this.#rest(wait);
        continue;
      }
      this.#current = new AbortController();
      try {
        await this.#claim();
        if (await step.run()) this.#succeeded();
      } catch (error) {
        if (this.#current.signal.aborted) continue;
        const failure = this.#failures.add(error, performance.now());
        if (await this.#giveUp(error, failure.problem)) return;
        await this.#tell(failure);
        await this.#rest(failure.delay, true);
      }
    }
  }

  /** The marker must be the first object, because the bucket of the node may be shared. */
  async #claim(): Promise<void> {
    const { job, slots, store } = this.#options;
    if (this.#claimed || job.discarded || job.place !== null) return;
    await slots.use(() => store().putText(markerOf(job.id), '', this.#current.signal));
    this.#claimed = true;
  }

  /** The next step and its earliest time. */
  #next(): Step | undefined {
    const { job } = this.#options;
    if (job.discarded) return { dueAt: 0, run: () => this.#remove() };
    if (job.finishedAt !== null) return { dueAt: 0, run: () => this.#complete() };
    const steps: Step[] = [
      ...[...this.#whole].map(([file, { dueAt }]) => ({ dueAt, run: () => this.#putDue(file) })),
      ...[...this.#growing].map(([file, growing]) => ({ dueAt: growing.dueAt, run: () => this.#putChunk(file, growing) })),
    ];
    return steps.reduce<Step | undefined>((first, step) => (first && first.dueAt <= step.dueAt ? first : step), undefined);
  }

  /** Waits until a step may be due. `evenSo`: new files do not end the wait. */
  async #rest(time: number, evenSo = false): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const before = this.#options.job.discarded;
    await new Promise<void>((resolve) => {
      const timer = Number.isFinite(time) ? new Timer(time, resolve) : undefined;
      this.#wake = () => {
        if (evenSo && this.#options.job.discarded === before && !this.#stop.signal.aborted) return;
        timer?.stop();
        resolve();
      };
    });
    this.#wake = undefined;
  }

  async #putDue(file: string): Promise<boolean> {
    const due = this.#whole.get(file);
    // Later changes must be uploaded again.
    this.#whole.delete(file);
    try {
      await this.#put(file);
      await this.#dropChunks(file);
      return true;
    } catch (error) {
      // The file was deleted.
      if (isMissing(error)) return false;
      if (due && !this.#whole.has(file)) this.#whole.set(file, due);
      throw error;
    }
  }

  async #put(file: string): Promise<void> {
    const { job, slots, store } = this.#options;
    const path = join(this.#folder, file);
    const { size, mtimeMs } = await stat(path);
    await slots.use(() => store().putFile(`${job.id}/${file}`, path, this.#current.signal));
    this.#up.set(file, { size, mtimeMs });
  }

  async #putChunk(file: string, growing: Growing): Promise<boolean> {
    const { job, slots, store, settings } = this.#options;
    const path = join(this.#folder, file);
    const size = await stat(path).then(
      (found) => found.size,
      (error: unknown) => {
        // The file appears with its first frame.
        if (isMissing(error)) return 0;
        throw error;
      },
    );
    const length = Math.min(size - growing.sent, chunkSize);
    if (length > 0) {
      const range = { start: growing.sent, length };
      await slots.use(() => store().putPart(chunkName(job.id, file, range.start), path, range, this.#current.signal));
      this.#chunked.add(file);
      growing.sent += length;
    }
    growing.dueAt = performance.now() + (size > growing.sent ? 0 : settings.growth);
    return length > 0;
  }

  /** The whole file is uploaded. Chunks that cannot be deleted now are deleted at the end. */
  async #dropChunks(file: string): Promise<void> {
    const { job, slots, store } = this.#options;
    if (!this.#chunked.delete(file)) return;
    const { signal } = this.#current;
    const names = (await store().list(listChunks(job.id, file), signal)).map(({ name }) => name);
    await slots.use(() => store().remove(names, signal));
  }

  /** Uploads all missing files, the report last. */
  async #complete(): Promise<boolean> {
    const { job, slots, store, resumed, onOver, log } = this.#options;
    const { signal } = this.#current;
    if (this.#marked === undefined) await this.#mark({ state: 'pending' });
    this.#more = false;
    // Read before the files are listed, so that they include all files of the report.
    const report = await readReportFile(this.#folder);
    const files = await this.#files();
    const there = new Map((await store().list(`${job.id}/`, signal)).map(({ name, size }) => [name, size]));
    for (const [file, version] of files) {
      if (file === reportName) continue;
      const up = this.#up.get(file);
      if (up && up.size === version.size && up.mtimeMs === version.mtimeMs) continue;
      // Uploaded by a previous process.
      if (resumed && !isChanging(file) && there.get(`${job.id}/${file}`) === version.size) continue;
      await this.#put(file);
    }
    const chunks = [...there.keys()].filter((name) => parseChunk(name) !== undefined);
    const late = (await store().list(listChunks(job.id), signal)).map(({ name }) => name);
    await slots.use(() => store().remove([...new Set([...chunks, ...late])], signal));
    await store().abortUploads(`${job.id}/`, signal);
    if (report && !this.#more) await this.#putReport(report);
    if (this.#more) {
      this.#marked = undefined;
      return true;
    }
    log.info({ recording: job.id, files: files.size }, 'uploaded');
    this.#stop.abort();
    onOver('done');
    return true;
  }

  async #putReport(report: ReportFile): Promise<void> {
    const { job, slots, store } = this.#options;
    const upload: UploadState = { state: 'done', time: new Date().toISOString() };
    const text = reportText({ ...report, upload });
    await slots.use(() => store().putText(`${job.id}/${reportName}`, text, this.#current.signal));
    await updateReportFile(this.#folder, (now) => (this.#more ? now : { ...now, upload }));
  }

  /** Files by name, sorted; the folder has no subfolders. @throws StorageError if the folder does not exist any more */
  async #files(): Promise<Map<string, Version>> {
    const names = await readdir(this.#folder).catch((error: unknown) => {
      throw isMissing(error) ? new StorageError('missing', 'Its files were deleted') : error;
    });
    const files = new Map<string, Version>();
    for (const name of names.filter((each) => fileNameSchema.safeParse(each).success).sort()) {
      const found = await stat(join(this.#folder, name));
      if (found.isFile()) files.set(name, { size: found.size, mtimeMs: found.mtimeMs });
    }
    return files;
  }

  async #remove(): Promise<boolean> {
    const { job, slots, store, onOver, log } = this.#options;
    const { signal } = this.#current;
    await store().abortUploads(`${job.id}/`, signal);
    const names = (await store().list(`${job.id}/`, signal)).map(({ name }) => name);
    // Reported files in a storage other than that of the node belong to its owner.
    const own = job.told && job.place !== null ? names.filter((name) => name === `${job.id}/${renderedName}`) : names;
    await slots.use(() => store().remove(job.place === null ? [...own, markerOf(job.id)] : own, signal));
    log.info({ recording: job.id, objects: own.length }, 'deleted uploaded files');
    this.#stop.abort();
    onOver('discarded');
    return true;
  }

  /** @returns true if the upload has ended */
  async #giveUp(error: unknown, reason: string): Promise<boolean> {
    const { job, settings, onOver, log, store } = this.#options;
    if (job.finishedAt === null) return false;
    const age = Date.now() - job.finishedAt;
    const deleted = error instanceof StorageError && error.message === 'Its files were deleted';
    if (!deleted && age < settings.maxAge) return false;
    log.error({ recording: job.id, reason, failures: this.#failures.count, discarded: job.discarded }, 'upload failed permanently');
    this.#stop.abort();
    if (job.discarded) {
      onOver('discarded');
      return true;
    }
    await this.#mark({ state: 'failed', time: new Date().toISOString(), problem: reason });
    // Incomplete multipart uploads are billed.
    const brief = AbortSignal.timeout(settings.maxDelay);
    await Promise.resolve()
      .then(() => store().abortUploads(`${job.id}/`, brief))
      .catch(() => {});
    onOver({ failed: reason });
    return true;
  }

  #succeeded(): void {
    this.#failures.clear();
    this.#show(null);
  }

  #show(problem: string | null): void {
    if (problem === this.#reportedProblem) return;
    this.#reportedProblem = problem;
    this.#options.onProblem(problem);
  }

  async #tell({ problem, delay, isNews, isRefused, toShow }: Failure): Promise<void> {
    const { job, log, onFailure, onRefused } = this.#options;
    onFailure();
    if (toShow) this.#show(problem);
    const facts = { recording: job.id, problem, failures: this.#failures.count, delay: Math.round(delay) };
    if (isNews) log.warn(facts, 'upload failed, will retry');
    else log.debug(facts, 'upload failed again');
    if (job.finishedAt !== null) await this.#mark({ state: 'pending', problem });
    if (!isRefused || job.refused || job.discarded) return;
    // Reported before it is saved: rather twice with the same id than never.
    onRefused(problem);
    job.refused = true;
    this.#save();
  }

  /** Writes the upload state to the report. After finish() no other code writes the report. */
  async #mark(upload: UploadState): Promise<void> {
    const text = `${upload.state} ${upload.problem ?? ''}`;
    if (text === this.#marked || this.#options.job.discarded) return;
    try {
      await writeUploadState(this.#folder, upload);
      this.#marked = text;
    } catch (error) {
      this.#options.log.warn({ err: error, recording: this.#options.job.id }, 'could not write report of upload');
    }
  }

  #save(): void {
    const { log, job, save } = this.#options;
    save(this.#folder).catch((error: unknown) => log.error({ err: error, recording: job.id }, 'could not write upload job'));
  }
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
}
