// One folder on its way to S3: pieces of files that grow, whole files, at the end all that is missing; again after each failure.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../common/log.ts';
import { Timer } from '../../common/timer.ts';
import { fileNameSchema } from '../../rooms/shapes/content.ts';
import type { UploadState } from '../../rooms/shapes/recordings.ts';
import { renderedName } from '../../rooms/shapes/renders.ts';
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
  /** Whether an earlier process has begun it. */
  resumed: boolean;
  /** The storage as it is now. @throws StorageError where the node has none any more */
  store: () => S3Store;
  slots: Semaphore;
  settings: UploadSettings;
  /** The job has changed: it is to be on disk. */
  save: (folder: string) => Promise<void>;
  onFailure: () => void;
  /** As in UploadPlan. */
  onProblem: (problem: string | null) => void;
  /** The storage refuses it for good, unless somebody mends something; called at most once for a job. It is tried again all the same. */
  onRefused: (problem: string) => void;
  /** It is over, and said in its report; called at most once. */
  onOver: (outcome: Outcome) => void;
};

type Whole = { dueAt: number };
type Growing = { sent: number; dueAt: number };
type Version = { size: number; mtimeMs: number };
/** `run` says whether the storage took something. */
type Step = { dueAt: number; run: () => Promise<boolean> };

/** Bytes of a piece, at most. */
const chunkSize = 8 * 1024 * 1024;
/** Files whose content changes while their size may stay. */
const isChanging = (file: string) => file === renderedName || /\.(json|m3u8)$/.test(file);

export class FolderUpload implements Upload {
  readonly #options: FolderUploadOptions;
  readonly #whole = new Map<string, Whole>();
  readonly #growing = new Map<string, Growing>();
  /** As they were when they arrived. */
  readonly #up = new Map<string, Version>();
  readonly #chunked = new Set<string>();
  readonly #stop = new AbortController();
  /** Of what is being sent. */
  #current = new AbortController();
  #folder: string;
  readonly #failures: Failures;
  #toldProblem: string | null = null;
  #marked: string | undefined;
  #claimed = false;
  /** Files have come, or changed, since it was looked what is missing. */
  #more = false;
  #wake: (() => void) | undefined;
  readonly #over: Promise<void>;

  constructor(options: FolderUploadOptions) {
    this.#options = options;
    this.#folder = options.folder;
    this.#failures = new Failures(options.settings);
    this.#over = this.#run();
  }

  /** Whether it gets on, as far as is known. */
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

  /** After finish(): there is one more file, or another. It is not over, nor said to be, before that is up as well. @throws Error where the disk refuses */
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

  /** Ends the work on it; it stays to be done. */
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

  /** Before anything else is there, since others may share the bucket of the node. */
  async #claim(): Promise<void> {
    const { job, slots, store } = this.#options;
    if (this.#claimed || job.discarded || job.place !== null) return;
    await slots.use(() => store().putText(markerOf(job.id), '', this.#current.signal));
    this.#claimed = true;
  }

  /** What is to be done next, and when at the earliest. */
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

  /** Until there may be something to do. `evenSo`: new files do not end it. */
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
    // What changes from now on is sent again.
    this.#whole.delete(file);
    try {
      await this.#put(file);
      await this.#dropChunks(file);
      return true;
    } catch (error) {
      // It is no longer wanted.
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
        // It comes with its first frame.
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

  /** The whole file is there. What cannot be removed now is so at the end. */
  async #dropChunks(file: string): Promise<void> {
    const { job, slots, store } = this.#options;
    if (!this.#chunked.delete(file)) return;
    const { signal } = this.#current;
    const names = (await store().list(listChunks(job.id, file), signal)).map(({ name }) => name);
    await slots.use(() => store().remove(names, signal));
  }

  /** Everything that is missing, the report last. */
  async #complete(): Promise<boolean> {
    const { job, slots, store, resumed, onOver, log } = this.#options;
    const { signal } = this.#current;
    if (this.#marked === undefined) await this.#mark({ state: 'pending' });
    this.#more = false;
    // Before its files: whatever it speaks of is among them.
    const report = await readReportFile(this.#folder);
    const files = await this.#files();
    const there = new Map((await store().list(`${job.id}/`, signal)).map(({ name, size }) => [name, size]));
    for (const [file, version] of files) {
      if (file === reportName) continue;
      const up = this.#up.get(file);
      if (up && up.size === version.size && up.mtimeMs === version.mtimeMs) continue;
      // By an earlier process.
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

  /** By name, in order; the folder has no other folders. @throws StorageError where the folder is gone */
  async #files(): Promise<Map<string, Version>> {
    const names = await readdir(this.#folder).catch((error: unknown) => {
      throw isMissing(error) ? new StorageError('missing', 'Its files are gone') : error;
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
    // What was told to be in a storage that is not the node's belongs to whoever was told.
    const own = job.told && job.place !== null ? names.filter((name) => name === `${job.id}/${renderedName}`) : names;
    await slots.use(() => store().remove(job.place === null ? [...own, markerOf(job.id)] : own, signal));
    log.info({ recording: job.id, objects: own.length }, 'what was uploaded is removed');
    this.#stop.abort();
    onOver('discarded');
    return true;
  }

  /** @returns whether it is over */
  async #giveUp(error: unknown, reason: string): Promise<boolean> {
    const { job, settings, onOver, log, store } = this.#options;
    if (job.finishedAt === null) return false;
    const age = Date.now() - job.finishedAt;
    const gone = error instanceof StorageError && error.message === 'Its files are gone';
    if (!gone && age < settings.maxAge) return false;
    log.error({ recording: job.id, reason, failures: this.#failures.count, discarded: job.discarded }, 'an upload is given up');
    this.#stop.abort();
    if (job.discarded) {
      onOver('discarded');
      return true;
    }
    await this.#mark({ state: 'failed', time: new Date().toISOString(), problem: reason });
    // Nobody is to pay for what will never be whole.
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
    if (problem === this.#toldProblem) return;
    this.#toldProblem = problem;
    this.#options.onProblem(problem);
  }

  async #tell({ problem, delay, isNews, isRefused, toShow }: Failure): Promise<void> {
    const { job, log, onFailure, onRefused } = this.#options;
    onFailure();
    if (toShow) this.#show(problem);
    const facts = { recording: job.id, problem, failures: this.#failures.count, delay: Math.round(delay) };
    if (isNews) log.warn(facts, 'an upload failed, tried again later');
    else log.debug(facts, 'an upload failed again');
    if (job.finishedAt !== null) await this.#mark({ state: 'pending', problem });
    if (!isRefused || job.refused || job.discarded) return;
    // Told before it is remembered: twice, with the same id, rather than never.
    onRefused(problem);
    job.refused = true;
    this.#save();
  }

  /** Says in the report how it stands. The report is nobody else's after finish(). */
  async #mark(upload: UploadState): Promise<void> {
    const text = `${upload.state} ${upload.problem ?? ''}`;
    if (text === this.#marked || this.#options.job.discarded) return;
    try {
      await writeUploadState(this.#folder, upload);
      this.#marked = text;
    } catch (error) {
      this.#options.log.warn({ err: error, recording: this.#options.job.id }, 'the report of an upload cannot be written');
    }
  }

  #save(): void {
    const { log, job, save } = this.#options;
    save(this.#folder).catch((error: unknown) => log.error({ err: error, recording: job.id }, 'an upload cannot be remembered on disk'));
  }
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
}
