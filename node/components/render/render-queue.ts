// Render queue of a node: renders one recording at a time, with lower priority than live media.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../../api/errors.ts';
import { recordingIdSchema } from '../../../api/recording.ts';
import type { Report } from '../../../api/recording-report.ts';
import { maxReasonLength, type RenderOptions, type RenderView, renderedName } from '../../../api/render.ts';
import type { Log } from '../../common/log.ts';
import { Timer } from '../../common/timer.ts';
import type { LocalRenderService, RenderSource } from '../../rooms/services/renders.ts';
import { readReportFile } from '../../storage/report-file.ts';
import { resolveWithoutLinks } from '../../storage/safe-paths.ts';
import type { Uploads } from '../../storage/upload.ts';
import type { Admission } from '../process/admission.ts';
import { diskErrorMessage } from '../process/disk-error.ts';
import { isFfmpegAvailable } from '../process/installed.ts';
import { RecordingDownloader } from './recording-download.ts';
import {
  heartbeatInterval,
  heartbeatTimeoutMs,
  type RenderState,
  readState,
  removeState,
  removeUnfinished,
  writeHeartbeat,
  writeState,
} from './render-state.ts';
import { type Job, workOn } from './render-work.ts';

/** Maximum of queued recordings. */
const maxQueued = 20;
/** Maximum milliseconds of one rendering, and milliseconds between two checks of CPU capacity. */
const deadline = 12 * 3_600_000;
const pollInterval = 5_000;
/** Minimum of free cores to start; a rendering uses all that are idle. */
const minCores = 0.5;
const what = 'rendering a recording';

const ended = 'The node shut down before rendering finished';
const cancelled = new Error('Rendering was cancelled');

export type RenderQueueOptions = {
  log: Log;
  /** Absolute path of the resources directory. */
  resources: string;
  /** Name of this node. */
  node: string;
  uploads: Pick<Uploads, 'reopen'>;
  /** Recordings that exist only in S3; undefined without S3. */
  archive?: RenderSource | undefined;
  /** True if this node is recording it. */
  isRunning: (recordingId: string) => boolean;
  admission: Pick<Admission, 'taken' | 'requireBudget' | 'requireIdleCpu'>;
  /** Milliseconds. */
  deadline?: number;
};

/** `report`: report of a recording that exists only in S3, if it was read. */
type JobFolder = { folder: string; archived: boolean; report?: Report };

export class RenderQueue implements LocalRenderService {
  readonly #options: RenderQueueOptions;
  readonly #archived: RecordingDownloader;
  /** In queue order; the first may be running. */
  readonly #jobs = new Map<string, Job>();
  /** Errors whose state could not be written to disk. */
  readonly #unreported = new Map<string, string>();
  readonly #settling = new Map<string, Promise<'queued' | 'running' | undefined>>();
  #poll: Timer | undefined;
  #secondCheck: Timer | undefined;
  #closed = false;

  constructor(options: RenderQueueOptions) {
    this.#options = options;
    this.#archived = new RecordingDownloader({ resources: options.resources, archive: options.archive });
  }

  /**
   * Marks unfinished work of earlier processes as failed and deletes partial files: now, and again when no process can be working on the
   * rest, because a node may restart under another name. Never rejects.
   */
  async start(): Promise<void> {
    await this.#settleAll();
    if (!this.#closed) this.#secondCheck = new Timer(heartbeatTimeoutMs, () => void this.#settleAll());
  }

  /** True if it is queued or running. */
  isAt(id: string): boolean {
    return this.#jobs.has(id);
  }

  async holds(id: string): Promise<boolean> {
    return this.#jobs.has(id) || this.#unreported.has(id) || (await readState(this.#archived.folderOf(id))) !== undefined;
  }

  async render(id: string, options: RenderOptions): Promise<RenderView> {
    const { folder, archived, report } = await this.#place(id);
    const known = this.#jobs.get(id);
    if (known) return viewOf(known);
    if (!isFfmpegAvailable()) throw new ServiceError('unavailable', 'Rendering requires the package node-av, which is not installed');
    // A recording that exists only in S3 is not running, whatever state its report has.
    if (archived) assertTracks(id, report ?? (await this.#archived.report(id)));
    else await this.#assertRenderable(id, folder);
    const elsewhere = await this.#settleLeft(id, { folder, archived });
    if (elsewhere) return { state: elsewhere, progress: 0 };
    if (this.#closed) throw new ServiceError('unavailable', 'This node is shutting down and accepts no rendering', { retryAfter: 10 });
    // A concurrent request for the same recording was first.
    const other = this.#jobs.get(id);
    if (other) return viewOf(other);
    if (this.#jobs.size > maxQueued)
      throw new ServiceError('unavailable', `The render queue of this node is full (${maxQueued} recordings)`, { retryAfter: 60 });
    const job: Job = {
      id,
      folder,
      archived,
      leaves: false,
      options,
      state: 'queued',
      progress: 0,
      waitsFor: undefined,
      problems: [],
      ending: new AbortController(),
      over: Promise.withResolvers(),
    };
    this.#jobs.set(id, job);
    this.#unreported.delete(id);
    try {
      if (archived) await this.#archived.begin(id);
      await this.#tell(job);
    } catch (error) {
      this.#forget(job);
      if (archived) await this.#archived.clear(id);
      throw new ServiceError('unavailable', `Could not start rendering: ${diskErrorMessage(error)}`, { cause: error });
    }
    this.#options.log.info({ recording: id }, 'render queued');
    this.#next();
    return viewOf(job);
  }

  async getRender(id: string): Promise<RenderView> {
    const { folder, archived, report } = await this.#place(id);
    const job = this.#jobs.get(id);
    if (job) return viewOf(job);
    const elsewhere = await this.#settleLeft(id, { folder, archived });
    if (elsewhere) return { state: elsewhere, progress: 0 };
    const unreported = this.#unreported.get(id);
    if (unreported !== undefined) return { state: 'failed', progress: 0, reason: unreported };
    const found = (await readState(folder))?.state;
    if (found?.state === 'failed') return { state: 'failed', progress: 0, reason: found.reason };
    if (archived) return viewOfKept((report ?? (await this.#archived.report(id))).rendered);
    const kept = await stat(join(folder, renderedName)).catch(() => undefined);
    if (!kept?.isFile()) return { state: 'none', progress: 0 };
    return viewOfKept({ problems: found?.state === 'done' ? found.problems : [] });
  }

  async cancelRender(id: string): Promise<void> {
    const { folder, archived } = await this.#place(id);
    await this.discard(id);
    this.#unreported.delete(id);
    if (await this.#settleLeft(id, { folder, archived }))
      throw new ServiceError('conflict', `Another node with the same disk is rendering recording ${id}`);
    if ((await readState(folder))?.state.state === 'failed') await removeState(folder);
    if (archived) await this.#archived.clear(id);
  }

  /** Cancels it; resolves when no work on the recording is in progress. Never rejects. */
  async discard(id: string): Promise<void> {
    const job = this.#jobs.get(id);
    if (!job) return this.#archived.forget(id);
    job.ending.abort(cancelled);
    if (job.state === 'queued') await this.#finish(job, undefined);
    await job.over.promise;
  }

  /** Cancels all work, which then counts as failed. Idempotent; never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#poll?.stop();
    this.#secondCheck?.stop();
    const jobs = [...this.#jobs.values()];
    for (const job of jobs) job.ending.abort(new ServiceError('unavailable', ended));
    await Promise.all(
      jobs.map(async (job) => {
        if (job.state === 'queued') await this.#finish(job, { state: 'failed', reason: ended });
        await job.over.promise;
      }),
    );
  }

  /** Starts the next job if CPU capacity allows. */
  #next(): void {
    const job = [...this.#jobs.values()].find(({ leaves }) => !leaves);
    this.#poll?.stop();
    if (!job || job.state === 'running' || this.#closed) return;
    job.waitsFor = this.#refusal();
    if (job.waitsFor !== undefined) this.#poll = new Timer(pollInterval, () => this.#next());
    else void this.#run(job);
    // Queued jobs also need a heartbeat, so that they do not count as orphaned.
    for (const each of this.#jobs.values()) void writeHeartbeat(each.folder);
  }

  /** Message if no job may start because of live media. */
  #refusal(): string | undefined {
    const { admission } = this.#options;
    if (admission.taken === 0) return undefined;
    try {
      admission.requireBudget(what, minCores);
      admission.requireIdleCpu(what, minCores);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  async #run(job: Job): Promise<void> {
    const { id, ending } = job;
    job.state = 'running';
    const expired = new Timer(this.#options.deadline ?? deadline, () =>
      ending.abort(new ServiceError('unavailable', 'Rendering timed out')),
    );
    const alive = setInterval(() => {
      for (const each of this.#jobs.values()) void writeHeartbeat(each.folder);
    }, heartbeatInterval);
    const { log, uploads } = this.#options;
    let outcome: RenderState | undefined;
    try {
      await this.#tell(job);
      await workOn(job, { log, uploads, archived: this.#archived, onLeaves: () => this.#next() });
      outcome = { state: 'done', problems: job.problems };
    } catch (error) {
      const reason = error instanceof ServiceError ? error.message : diskErrorMessage(error);
      outcome = error === cancelled ? undefined : { state: 'failed', reason: reason.slice(0, maxReasonLength) };
      if (outcome) log.warn({ recording: id, reason }, 'could not render recording');
    } finally {
      expired.stop();
      clearInterval(alive);
    }
    await this.#finish(job, outcome);
  }

  /** Never rejects. */
  async #finish(job: Job, outcome: RenderState | undefined): Promise<void> {
    try {
      // The outcome of a rendered archived recording is in its report.
      if (outcome && !(job.archived && outcome.state === 'done')) await writeState(job.folder, outcome);
      else await removeState(job.folder);
    } catch (error) {
      // If the disk is full, the old state must not stay, because it would claim that the job still runs.
      await removeState(job.folder).catch(() => {});
      if (outcome?.state === 'failed') this.#unreported.set(job.id, outcome.reason);
      this.#options.log.error({ err: error, recording: job.id }, 'could not write render state');
    }
    if (job.archived) await this.#archived.clear(job.id);
    this.#forget(job);
    job.over.resolve();
    this.#next();
  }

  #forget(job: Job): void {
    if (this.#jobs.get(job.id) === job) this.#jobs.delete(job.id);
  }

  async #tell(job: Job): Promise<void> {
    await writeState(job.folder, { state: job.state, node: this.#options.node });
  }

  async #settleAll(): Promise<void> {
    const folder = join(this.#options.resources, 'recordings');
    const names = await readdir(folder).catch(() => []);
    const ids = names.filter((name) => recordingIdSchema.safeParse(name).success);
    for (const id of ids) if (!this.#closed) await this.#settleLeft(id, { folder: join(folder, id), archived: false });
    for (const id of await this.#archived.ids()) {
      if (this.#closed) return;
      const elsewhere = await this.#settleLeft(id, { folder: this.#archived.folderOf(id), archived: true });
      if (!elsewhere && !this.#jobs.has(id)) await this.#archived.clear(id);
    }
  }

  /** Shared by concurrent requests. @returns the state if another node is working on it */
  #settleLeft(id: string, jobFolder: JobFolder): Promise<'queued' | 'running' | undefined> {
    const settling = this.#settling.get(id) ?? this.#settle(id, jobFolder).finally(() => this.#settling.delete(id));
    this.#settling.set(id, settling);
    return settling;
  }

  async #settle(id: string, { folder, archived }: JobFolder): Promise<'queued' | 'running' | undefined> {
    if (this.#jobs.has(id)) return undefined;
    const left = await readState(folder);
    if (left?.state.state !== 'queued' && left?.state.state !== 'running') return undefined;
    if (left.state.node !== this.#options.node && left.fresh) return left.state.state;
    // A concurrent request may have queued it again.
    if (this.#jobs.has(id)) return undefined;
    await removeUnfinished(folder);
    await writeState(folder, { state: 'failed', reason: ended }).catch(async (error: unknown) => {
      await removeState(folder).catch(() => {});
      this.#unreported.set(id, ended);
      this.#options.log.error({ err: error, recording: id }, 'could not write render state');
    });
    if (archived) await this.#archived.clear(id);
    return undefined;
  }

  async #assertRenderable(id: string, folder: string): Promise<void> {
    const report = await readReportFile(folder);
    if (!report) throw new ServiceError('bad_request', `Recording ${id} cannot be rendered: its report.json is missing`);
    assertTracks(id, report);
    if (this.#options.isRunning(id) || report.state === 'running')
      throw new ServiceError('conflict', `Recording ${id} is still running; it can be rendered after its end`);
  }

  /** Work folder. @throws ServiceError `not_found`; `unavailable` if S3 does not respond */
  async #place(id: string): Promise<JobFolder> {
    const path = await resolveWithoutLinks(join(this.#options.resources, 'recordings'), id);
    if (path !== undefined && (await stat(path)).isDirectory()) return { folder: path, archived: false };
    const folder = this.#archived.folderOf(id);
    if (await this.holds(id)) return { folder, archived: true };
    return { folder, archived: true, report: await this.#archived.report(id) };
  }
}

function assertTracks(id: string, { type }: { type?: unknown }): void {
  if (type === 'hls')
    throw new ServiceError('bad_request', `Recording ${id} is a persistent stream, not a recording of tracks; it is already composed`);
}

function viewOfKept(rendered: { problems: string[] } | undefined): RenderView {
  if (!rendered) return { state: 'none', progress: 0 };
  const { problems } = rendered;
  return { state: 'done', progress: 1, ...(problems.length > 0 && { problems }) };
}

function viewOf({ state, progress, waitsFor, problems }: Job): RenderView {
  return {
    state,
    progress,
    ...(waitsFor !== undefined && { reason: waitsFor.slice(0, maxReasonLength) }),
    ...(problems.length > 0 && { problems: [...problems] }),
  };
}
