// Recordings of a node: creates them, finishes orphaned ones and deletes expired ones.
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { S3Target } from '../../../api/component/s3-target.ts';
import { recordingIdOf, recordingIdSchema } from '../../../api/recording.ts';
import { type Report, readReport } from '../../../api/recording-report.ts';
import type { Log } from '../../common/log.ts';
import { settleWithin, Timer } from '../../common/timer.ts';
import type { RoomIdentity } from '../../rooms/interfaces.ts';
import { reportName, writeReportFile } from '../../storage/report-file.ts';
import type { UploadPlan, Uploads } from '../../storage/upload.ts';
import { heartbeatTimeoutMs, Recording, recoverFile } from './recording.ts';

export type RecordingsOptions = {
  log: Log;
  /** Absolute path of the resources directory. */
  resources: string;
  /** Node name for reports; available once the node runs. */
  node: string;
  uploads: Uploads;
  /** TTL of recordings in milliseconds. Null: one day after the upload; recordings that are not uploaded stay. */
  timeToLive: () => number | null;
  /** True if the recording is in use, for example by rendering; it is not deleted then. */
  isUsed?: (id: string) => boolean;
  now?: () => number;
};

export type RecordingTarget = {
  room: RoomIdentity;
  componentId: string;
  /** Upload target; undefined for that of the node, if any. */
  place: S3Target | undefined;
  onUploadProblem: UploadPlan['onProblem'];
  log: Log;
};

/** Default TTL of uploaded recordings in milliseconds. */
const uploadedTimeToLive = 24 * 3600_000;

/** Maximum milliseconds between two sweeps for expired recordings. */
const sweepInterval = 60_000;
const minIntervalMs = 1000;
/** Milliseconds for running recordings to finish at shutdown. */
const closeTimeoutMs = 12_000;

export class Recordings {
  readonly #options: RecordingsOptions;
  readonly #folder: string;
  readonly #now: () => number;
  readonly #running = new Map<string, PromiseWithResolvers<void>>();
  #sweep: Timer | undefined;
  #recovery: Timer | undefined;
  #closed = false;

  constructor(options: RecordingsOptions) {
    this.#options = options;
    this.#folder = join(options.resources, 'recordings');
    this.#now = options.now ?? Date.now;
  }

  /** Finishes orphaned recordings now, and again when no process can be working on the rest; deletes expired ones. Never rejects. */
  async start(): Promise<void> {
    this.#scheduleSweep();
    await this.#recoverSafely();
    if (!this.#closed) this.#recovery = new Timer(heartbeatTimeoutMs, () => void this.#recoverSafely());
  }

  isRunning(id: string): boolean {
    return this.#running.has(id);
  }

  /** Creates a recording named `<room>-<start time>`. @throws Error if the disk write fails */
  async create({ room, componentId, place, onUploadProblem: onProblem, log }: RecordingTarget): Promise<Recording> {
    const { roomId } = room;
    await mkdir(this.#folder, { recursive: true });
    for (let start = this.#now(); ; start += 1) {
      const startTime = new Date(start).toISOString();
      const id = recordingIdOf(roomId, startTime);
      if (this.#running.has(id)) continue;
      const running = Promise.withResolvers<void>();
      this.#running.set(id, running);
      const onFinished = () => {
        this.#running.delete(id);
        running.resolve();
      };
      const node = this.#options.node;
      const report: Report = { id, type: 'recording', roomId, node, state: 'running', startTime, endTime: null, tracks: [] };
      try {
        const folder = join(this.#folder, id);
        const beginUpload = () => this.#options.uploads.begin({ id, kind: 'recording', room, componentId, place, onProblem }, folder);
        return await Recording.create({ log, folder, report, beginUpload, onFinished });
      } catch (error) {
        onFinished();
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
    }
  }

  /** @returns the number of recordings that another process may still be writing */
  async recover(): Promise<number> {
    let fresh = 0;
    for (const id of await this.#ids()) {
      if (this.#closed) return fresh;
      if (this.isRunning(id)) continue;
      const found = await this.#read(id);
      if (found?.report.state !== 'running' || found.report.type !== 'recording') continue;
      if (this.#now() - found.touched < heartbeatTimeoutMs) fresh += 1;
      else await this.#finish(id, found.report);
    }
    await this.#resumeUploads();
    return fresh;
  }

  /** Deletes expired recordings, except those whose upload is pending. */
  async sweep(): Promise<void> {
    for (const id of await this.#ids()) {
      const found = await this.#read(id);
      // Persistent streams are not raw recordings.
      if (!found || found.report.type === 'hls' || this.#options.isUsed?.(id)) continue;
      const timeToLive = lifetimeOf(found.report, this.#options.timeToLive());
      if (timeToLive === null || this.#now() - found.touched < timeToLive) continue;
      await rm(join(this.#folder, id), { recursive: true, force: true });
      this.#options.log.info({ recording: id }, 'deleted expired recording');
    }
  }

  /** Resolves when running recordings are finished, or at a deadline. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#sweep?.stop();
    this.#recovery?.stop();
    await settleWithin(
      closeTimeoutMs,
      [...this.#running.values()].map(({ promise }) => promise),
    );
  }

  async #finish(id: string, report: Report): Promise<void> {
    const { log } = this.#options;
    let endTime = Date.parse(report.startTime);
    for (const track of report.tracks) {
      if (track.file === null || !recordingIdSchema.safeParse(track.file).success) continue;
      const duration = await recoverFile(join(this.#folder, id, track.file), log);
      if (duration === undefined) continue;
      track.duration = duration;
      if (track.startTime !== undefined) endTime = Math.max(endTime, Date.parse(track.startTime) + duration);
    }
    try {
      const end = new Date(endTime).toISOString();
      await writeReportFile(join(this.#folder, id), { ...report, state: 'recovered', endTime: end });
      log.info({ recording: id, tracks: report.tracks.length }, 'finished interrupted recording');
    } catch (error) {
      log.error({ err: error, recording: id }, 'could not write recording report');
    }
  }

  async #recoverSafely(): Promise<void> {
    await this.recover().catch((error: unknown) => this.#options.log.error({ err: error }, 'could not finish interrupted recordings'));
  }

  /** Resumes uploads of finished recordings. */
  async #resumeUploads(): Promise<void> {
    const { uploads, log } = this.#options;
    for (const id of await uploads.orphaned('recording')) {
      if (this.#closed) return;
      const found = await this.#read(id);
      // A deleted recording is not skipped, so that its upload reports the failure.
      if (found?.report.state === 'running') continue;
      try {
        (await uploads.resume(id))?.finish();
      } catch (error) {
        log.error({ err: error, recording: id }, 'could not resume upload of recording');
      }
    }
  }

  async #read(id: string): Promise<{ report: Report; touched: number } | undefined> {
    try {
      const path = join(this.#folder, id, reportName);
      const [text, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
      const report = readReport(text);
      return report && { report, touched: mtimeMs };
    } catch {
      // Deleted meanwhile, or not a recording.
      return undefined;
    }
  }

  async #ids(): Promise<string[]> {
    const entries = await readdir(this.#folder, { withFileTypes: true }).catch(() => []);
    return entries.filter((entry) => entry.isDirectory() && recordingIdSchema.safeParse(entry.name).success).map(({ name }) => name);
  }

  #scheduleSweep(): void {
    const timeToLive = this.#options.timeToLive() ?? sweepInterval;
    const interval = Math.max(minIntervalMs, Math.min(sweepInterval, timeToLive / 4));
    this.#sweep = new Timer(interval, () => {
      // Another node with the same folder may have been lost.
      this.#recoverSafely()
        .then(() => this.sweep())
        .catch((error: unknown) => this.#options.log.error({ err: error }, 'could not delete expired recordings'))
        .finally(() => {
          if (!this.#closed) this.#scheduleSweep();
        });
    });
  }
}

/** Milliseconds from its last change to its deletion; null if it is only deleted manually. */
function lifetimeOf({ state, upload }: Report, timeToLive: number | null): number | null {
  if (state === 'running' || (upload && upload.state !== 'done')) return null;
  return upload ? (timeToLive ?? uploadedTimeToLive) : timeToLive;
}
