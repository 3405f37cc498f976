// One recording while it is made: its folder, its report, and the sign that somebody is at work on it.
import { mkdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../common/log.ts';
import { Timer } from '../../common/timer.ts';
import type { Report, ReportTrack } from '../../rooms/shapes/recording-report.ts';
import { reportName, writeReportFile } from '../../storage/report-file.ts';
import type { Upload } from '../../storage/upload.ts';
import { finishMatroska } from './matroska-finish.ts';

export type RecordingOptions = {
  log: Log;
  folder: string;
  report: Report;
  /** Begins its way to S3, if it has one. */
  beginUpload: () => Promise<Upload | undefined>;
  onFinished: () => void;
};

/** Its report is touched so often, in milliseconds. */
const touchInterval = 2000;
/** One whose report was not touched for so long was left by a process that ended. */
export const heartbeatTimeoutMs = 10_000;

export class Recording {
  readonly #options: RecordingOptions;
  readonly #report: Report;
  readonly #upload: Upload | undefined;
  readonly #tracks = new Map<number, ReportTrack>();
  #entries = 0;
  #saving: Promise<void> | undefined;
  #changed = false;
  #touch: Timer | undefined;
  #finished: Promise<void> | undefined;

  private constructor(options: RecordingOptions, report: Report, upload: Upload | undefined) {
    this.#options = options;
    this.#report = report;
    this.#upload = upload;
    upload?.add(reportName);
    this.#keepTouching();
  }

  /** @throws Error where the folder cannot be made (EEXIST: there is one of this name) or its report not written */
  static async create(options: RecordingOptions): Promise<Recording> {
    await mkdir(options.folder, { mode: 0o750 });
    const upload = await options.beginUpload();
    const report: Report = upload ? { ...options.report, upload: { state: 'pending' } } : options.report;
    await writeReportFile(options.folder, report);
    return new Recording(options, report, upload);
  }

  get folder(): string {
    return this.#options.folder;
  }

  get id(): string {
    return this.#report.id;
  }

  /** A file for a track. A track that comes again gets one more. @returns the number that it is told apart by */
  add(track: Omit<ReportTrack, 'file'>, extension: string): { entry: number; path: string } {
    const times = [...this.#tracks.values()].filter(({ trackId }) => trackId === track.trackId).length;
    const file = `${track.trackId}${times === 0 ? '' : `-${times + 1}`}${extension}`;
    this.#entries += 1;
    this.#tracks.set(this.#entries, { ...track, file });
    return { entry: this.#entries, path: join(this.#options.folder, file) };
  }

  /** A track that cannot be recorded. */
  addProblem(track: Omit<ReportTrack, 'file'>): void {
    this.#entries += 1;
    this.#tracks.set(this.#entries, { ...track, file: null });
    this.#save();
  }

  /** Times in milliseconds since 1970. */
  update(entry: number, { startTime, endTime, ...facts }: TrackEntry): void {
    const track = this.#tracks.get(entry);
    if (!track) return;
    Object.assign(track, facts);
    if (startTime !== undefined) {
      track.startTime = new Date(startTime).toISOString();
      track.offset = Math.round(startTime - Date.parse(this.#report.startTime));
    }
    if (endTime !== undefined) track.endTime = new Date(endTime).toISOString();
    // With its length the file is as it is to be.
    if (track.file !== null) {
      if (facts.duration !== undefined) this.#upload?.add(track.file);
      else if (startTime !== undefined) this.#upload?.fileGrew(track.file);
    }
    this.#save();
  }

  /** A file whose process is gone. Never fails. */
  async recover(entry: number): Promise<void> {
    const file = this.#tracks.get(entry)?.file;
    const duration = file ? await recoverFile(join(this.#options.folder, file), this.#options.log) : undefined;
    if (duration !== undefined) this.update(entry, { duration });
  }

  /** Writes the report for the last time. Never fails; idempotent. */
  finish(): Promise<void> {
    this.#finished ??= this.#finish();
    return this.#finished;
  }

  async #finish(): Promise<void> {
    this.#touch?.stop();
    await this.#saving;
    await this.#write({ state: 'finished', endTime: new Date().toISOString() });
    this.#upload?.finish();
    this.#options.onFinished();
  }

  /** Changes that come while it is written go together. */
  #save(): void {
    this.#changed = true;
    if (this.#finished) return;
    this.#saving ??= (async () => {
      while (this.#changed) {
        this.#changed = false;
        await this.#write({});
      }
      this.#saving = undefined;
    })();
  }

  async #write(end: Partial<Report>): Promise<void> {
    const { folder, log } = this.#options;
    // Nothing came of it.
    const tracks = [...this.#tracks.values()].filter(({ file, startTime }) => file === null || startTime !== undefined);
    await writeReportFile(folder, { ...this.#report, ...end, tracks }).catch((error: unknown) => {
      log.error({ err: error, recording: this.id }, 'the report of a recording cannot be written');
    });
    if (!this.#finished) this.#upload?.add(reportName);
  }

  #keepTouching(): void {
    this.#touch = new Timer(touchInterval, () => {
      const now = new Date();
      // Where the disk does not even take this, the recording itself fails.
      utimes(join(this.#options.folder, reportName), now, now).catch(() => {});
      if (!this.#finished) this.#keepTouching();
    });
  }
}

export type TrackEntry = { startTime?: number | undefined; endTime?: number | undefined } & Partial<
  Pick<ReportTrack, 'width' | 'height' | 'duration' | 'frames' | 'lostPackets' | 'problem'>
>;

/** Finishes a file that its writer left. @returns milliseconds; undefined where there is nothing in it */
export async function recoverFile(path: string, log: Log): Promise<number | undefined> {
  try {
    return (await finishMatroska(path)).duration;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') log.warn({ err: error, path }, 'a file of a recording cannot be finished');
    return undefined;
  }
}
