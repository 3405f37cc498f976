// S3 uploads of a node: uploads of its components, orphaned uploads of earlier processes, and events about their results.
import { stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import type { S3Target } from '../../../api/component/s3-target.ts';
import type { RoomEvent } from '../../../api/events.ts';
import type { nodeMetrics, Readings } from '../../../api/metrics.ts';
import type { Log } from '../../common/log.ts';
import { Timer, waitWhile } from '../../common/timer.ts';
import { readReportFile, writeUploadState } from '../report-file.ts';
import { NodeS3Store } from '../s3/node-s3-store.ts';
import { StorageError } from '../s3/s3-errors.ts';
import { S3Store } from '../s3/s3-store.ts';
import type { Upload, UploadPlan, Uploads } from '../upload.ts';
import { FolderUpload, type Outcome } from './folder-upload.ts';
import { heartbeatInterval, type Job, JobFiles } from './job-file.ts';
import { Semaphore } from './semaphore.ts';
import { type UploadSettings, uploadSettings } from './settings.ts';

export type S3UploadsOptions = {
  log: Log;
  /** Absolute path of the resources directory. */
  resources: string;
  /** Name of this node. */
  node: string;
  /** The current storage of the node. */
  place: () => S3Target | null;
  /** True if storages from requests may currently have private addresses. */
  allowPrivate: () => boolean;
  /** An upload is done, rejected or failed permanently; `webhookUrl`: the receiver of its room. */
  onEvent: (event: RoomEvent, webhookUrl: string | null) => void;
  settings?: Partial<UploadSettings>;
};

type Begun = Pick<UploadPlan, 'onProblem'> & { webhookUrl: () => string | null };
type Entry = { job: Job; upload: FolderUpload; store: S3Store | undefined; saving: Promise<void> };

/** Maximum concurrent transfers. */
const maxTransfers = 4;

export class S3Uploads implements Uploads {
  readonly #options: S3UploadsOptions;
  readonly #settings: UploadSettings;
  readonly #files: JobFiles;
  readonly #semaphore = new Semaphore(maxTransfers);
  readonly #entries = new Map<string, Entry>();
  /** Ended uploads whose job file is not deleted yet. */
  readonly #ending = new Map<string, Promise<void>>();
  readonly #counters = { bytes: 0, done: 0, failures: 0, givenUp: 0 };
  readonly #unreadable = new Set<string>();
  readonly #shared: NodeS3Store;
  #scan: Timer | undefined;
  #sign: Timer | undefined;
  /** When jobs of lost processes were first seen. */
  readonly #seen = new Map<string, number>();
  /** Background work that writes to the disk. */
  #scanning: Promise<void> | undefined;
  #signing: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #closed = false;

  constructor(options: S3UploadsOptions) {
    this.#options = options;
    this.#settings = { ...uploadSettings, ...options.settings };
    this.#files = new JobFiles(options.resources);
    this.#shared = new NodeS3Store(options.place, { onSent: (bytes) => (this.#counters.bytes += bytes) });
  }

  /** Since the start of the node; `pending` is a current value. */
  counters(): Readings<typeof nodeMetrics.uploads> {
    return { pending: this.#entries.size, ...this.#counters };
  }

  /** Resumes orphaned uploads. Never fails. */
  async start(): Promise<void> {
    this.#keepSigning();
    await this.#takeUp();
    this.#scheduleScan();
  }

  hasPlace(): boolean {
    return this.#options.place() !== null;
  }

  async begin({ id, kind, room, componentId, place, onProblem }: UploadPlan, folder: string): Promise<Upload | undefined> {
    if (place === undefined && !this.hasPlace()) return undefined;
    const { roomId, incarnation, webhookUrl } = room;
    const job: Job = {
      id,
      kind,
      roomId,
      incarnation,
      componentId,
      webhookUrl: webhookUrl(),
      place: place ?? null,
      folder: this.#namesOf(folder),
      owner: this.#files.owner,
      finishedAt: null,
      discarded: false,
    };
    await this.#files.save(job);
    await this.#remember(job);
    return this.#work(job, { resumed: false, webhookUrl, onProblem });
  }

  async orphaned(kind: UploadPlan['kind']): Promise<string[]> {
    const { jobs } = await this.#files.abandoned();
    return jobs.filter((job) => job.kind === kind && job.finishedAt === null && !this.#entries.has(job.id)).map(({ id }) => id);
  }

  async resume(id: string): Promise<Upload | undefined> {
    if (this.#closed || this.#entries.has(id)) return undefined;
    const job = await this.#files.claim(id);
    if (job) await this.#remember(job);
    return job && !this.#closed ? this.#work(job, { resumed: true }) : undefined;
  }

  async reopen(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry) return entry.upload.more();
    await this.#ending.get(id);
    const folder = join(this.#options.resources, 'recordings', id);
    const report = await readReportFile(folder);
    if (report?.upload === undefined || this.#closed) return;
    const job = (await this.#files.kept(id)) ?? (this.hasPlace() ? this.#jobOfNode(id, report.roomId) : undefined);
    if (!job) {
      const problem = 'The rendered file cannot be uploaded: the keys of its storage are not stored any more';
      return writeUploadState(folder, { state: 'failed', time: new Date().toISOString(), problem });
    }
    const more: Job = {
      ...job,
      folder: this.#namesOf(folder),
      owner: this.#files.owner,
      finishedAt: Date.now(),
      discarded: false,
      told: true,
    };
    await this.#files.save(more);
    await writeUploadState(folder, { state: 'pending' });
    this.#work(more, { resumed: true });
  }

  /** A rendered file is uploaded to the storage of its recording. */
  async #remember(job: Job): Promise<void> {
    if (job.kind !== 'recording' || job.place === null) return;
    await this.#files.keep(job).catch((error: unknown) => {
      this.#options.log.warn({ err: error, recording: job.id }, 'could not write upload target');
    });
  }

  #jobOfNode(id: string, roomId: unknown): Omit<Job, 'folder' | 'owner' | 'finishedAt' | 'discarded'> {
    return { id, kind: 'recording', roomId: String(roomId), incarnation: '', componentId: '', webhookUrl: null, place: null };
  }

  /** A finished folder was deleted: deletes its objects and cancels pending uploads. */
  discard(id: string): void {
    const upload = this.#entries.get(id)?.upload;
    if (upload?.finished) upload.discard();
  }

  /**
   * Stops. Pending uploads are left for the next process. Idempotent.
   * @param timeoutMs timeout in milliseconds for finished folders, while uploads make progress
   */
  close(timeoutMs: number): Promise<void> {
    this.#closing ??= this.#close(timeoutMs);
    return this.#closing;
  }

  async #close(timeoutMs: number): Promise<void> {
    const getsOn = () => [...this.#entries.values()].some(({ upload }) => upload.finished && upload.retryable);
    await waitWhile(timeoutMs, getsOn);
    this.#closed = true;
    this.#scan?.stop();
    this.#sign?.stop();
    const left = [...this.#entries.values()];
    if (left.length > 0) this.#options.log.warn({ uploads: left.length }, 'uploads postponed to next start');
    await Promise.all(left.map(({ upload }) => upload.close()));
    await Promise.all(left.map(({ saving }) => saving));
    for (const { store } of left) store?.close();
    this.#shared.close();
    // A job that ended but was not deleted would be repeated and reported again by the next process. A late heartbeat would delay it.
    await Promise.all([...this.#ending.values(), this.#scanning, this.#signing]);
    await this.#files.leave().catch(() => {});
  }

  /** A resumed upload has no component that could show a problem. */
  #work(job: Job, { resumed, webhookUrl = () => job.webhookUrl, onProblem = () => {} }: Partial<Begun> & { resumed: boolean }): Upload {
    const { log, resources, allowPrivate } = this.#options;
    const onSent = (bytes: number) => (this.#counters.bytes += bytes);
    const own = job.place === null ? undefined : new S3Store(job.place, { onSent, allowPrivate });
    const upload = new FolderUpload({
      log,
      job,
      folder: join(resources, ...job.folder),
      resumed,
      store: () => own ?? this.#sharedStore(),
      slots: this.#semaphore,
      settings: this.#settings,
      save: (folder) => this.#save(job.id, folder, webhookUrl()),
      onFailure: () => (this.#counters.failures += 1),
      onProblem,
      onRefused: (problem) => {
        job.webhookUrl = webhookUrl();
        if (!job.told) this.#tell(job, { failed: problem });
      },
      onOver: (outcome) => {
        const over = this.#over(job, outcome).finally(() => this.#ending.delete(job.id));
        this.#ending.set(job.id, over);
      },
    });
    this.#entries.set(job.id, { job, upload, store: own, saving: Promise.resolve() });
    return upload;
  }

  /** Sequential: each save writes the state at its time. */
  #save(id: string, folder: string, webhookUrl: string | null): Promise<void> {
    const entry = this.#entries.get(id);
    if (!entry) return Promise.resolve();
    entry.job.webhookUrl = webhookUrl;
    entry.job.folder = this.#namesOf(folder);
    const saved = entry.saving.then(() => (this.#entries.get(id) === entry ? this.#files.save(entry.job) : undefined));
    entry.saving = saved.catch(() => {});
    return saved;
  }

  async #over(job: Job, outcome: Outcome): Promise<void> {
    const { log } = this.#options;
    const entry = this.#entries.get(job.id);
    this.#entries.delete(job.id);
    entry?.store?.close();
    if (outcome === 'done') this.#counters.done += 1;
    else if (outcome !== 'discarded') this.#counters.givenUp += 1;
    // Reported before the job is deleted: rather twice with the same id than never.
    const isReported = job.told || (outcome !== 'done' && job.refused);
    if (outcome !== 'discarded' && !isReported) this.#tell(job, outcome);
    await entry?.saving;
    await this.#files
      .remove(job.id)
      .catch((error: unknown) => log.error({ err: error, recording: job.id }, 'could not delete finished upload job'));
  }

  #tell({ id, kind, roomId, incarnation, componentId, webhookUrl }: Job, outcome: Exclude<Outcome, 'discarded'>): void {
    const done = outcome === 'done';
    const names =
      kind === 'hls' ? (['HlsUploaded', 'HlsUploadCrashed'] as const) : (['RecordingUploaded', 'RecordingUploadCrashed'] as const);
    const event: RoomEvent = {
      id: `${id}-${done ? 'uploaded' : 'upload-crashed'}`,
      type: names[done ? 0 : 1],
      time: new Date().toISOString(),
      node: this.#options.node,
      incarnation,
      roomId,
      componentId,
      recordingId: id,
      ...(outcome !== 'done' && { reason: outcome.failed }),
    };
    this.#options.onEvent(event, webhookUrl);
  }

  #sharedStore(): S3Store {
    const store = this.#shared.current();
    if (!store) throw new StorageError('failed', 'The node has no S3 storage any more');
    return store;
  }

  /** Resumes uploads of lost processes. Never fails. */
  async #takeUp(): Promise<void> {
    const { log } = this.#options;
    try {
      await this.#files.tidy();
      await this.#files.forget((id) =>
        stat(join(this.#options.resources, 'recordings', id)).then(
          () => true,
          () => false,
        ),
      );
      const { jobs, unreadable } = await this.#files.abandoned();
      for (const file of unreadable.filter((name) => !this.#unreadable.has(name))) {
        this.#unreadable.add(file);
        log.error({ file }, 'could not read upload queue');
      }
      for (const { id, finishedAt } of jobs) {
        if (this.#closed || this.#entries.has(id)) continue;
        const since = this.#seen.get(id) ?? performance.now();
        this.#seen.set(id, since);
        const orphaned = performance.now() - since > this.#settings.orphanedAfter;
        if (finishedAt === null && !orphaned) continue;
        log.info({ recording: id }, 'resumed orphaned upload');
        (await this.resume(id))?.finish();
        this.#seen.delete(id);
      }
    } catch (error) {
      log.error({ err: error }, 'could not scan upload queue');
    }
  }

  #scheduleScan(): void {
    if (this.#closed) return;
    this.#scan = new Timer(this.#settings.scan, () => {
      this.#scanning = this.#takeUp().then(() => this.#scheduleScan());
    });
  }

  #keepSigning(): void {
    if (this.#closed) return;
    this.#sign = new Timer(heartbeatInterval, () => {
      const signed = this.#entries.size > 0 ? this.#files.heartbeat() : Promise.resolve();
      // If even this write fails, recordings fail too and report it.
      this.#signing = signed.catch(() => {}).then(() => this.#keepSigning());
    });
  }

  #namesOf(folder: string): string[] {
    return relative(this.#options.resources, folder).split(sep);
  }
}
