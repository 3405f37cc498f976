// Running recording: its folder, its report and its heartbeat.
import { mkdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Report, ReportTrack } from '../../../api/recording-report.ts';
import type { Log } from '../../common/log.ts';
import { Timer } from '../../common/timer.ts';
import type { Caption } from '../../rooms/interfaces.ts';
import { reportName, writeReportFile } from '../../storage/report-file.ts';
import type { Upload } from '../../storage/upload.ts';
import { CaptionsFile, captionsFileName } from './captions-file.ts';
import { finishMatroska } from './matroska-finish.ts';

export type RecordingOptions = {
  log: Log;
  folder: string;
  report: Report;
  /** Starts the upload to S3, if one is configured. */
  beginUpload: () => Promise<Upload | undefined>;
  onFinished: () => void;
};

/** Milliseconds between two heartbeats (utimes of the report). */
const touchInterval = 2000;
/** Milliseconds without a heartbeat after which a recording counts as orphaned. */
export const heartbeatTimeoutMs = 10_000;

export class Recording {
  readonly #options: RecordingOptions;
  readonly #report: Report;
  readonly #upload: Upload | undefined;
  readonly #captions: CaptionsFile;
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
    const { folder, log } = options;
    this.#captions = new CaptionsFile({
      folder,
      zero: Date.parse(report.startTime),
      onGrown: () => this.#captionsGrown(),
      onOmitted: (error) => log.warn({ err: error, recording: report.id }, 'captions of recording omitted'),
    });
    upload?.add(reportName);
    this.#keepTouching();
  }

  /** @throws Error if the folder cannot be created (EEXIST: the name is in use) or the report cannot be written */
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

  /** Adds a file for a track. A track that is added again gets another file. @returns the number that identifies the file */
  add(track: Omit<ReportTrack, 'file'>, extension: string): { entry: number; path: string } {
    const times = [...this.#tracks.values()].filter(({ trackId }) => trackId === track.trackId).length;
    const file = `${track.trackId}${times === 0 ? '' : `-${times + 1}`}${extension}`;
    this.#entries += 1;
    this.#tracks.set(this.#entries, { ...track, file });
    return { entry: this.#entries, path: join(this.#options.folder, file) };
  }

  /** Reports a track that cannot be recorded. */
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
    // The duration is set when the file is complete.
    if (track.file !== null) {
      if (facts.duration !== undefined) this.#upload?.add(track.file);
      else if (startTime !== undefined) this.#upload?.fileGrew(track.file);
    }
    this.#save();
  }

  /** What a speaker said, at `time` (milliseconds since 1970). */
  addCaption(caption: Caption, time: number): void {
    if (!this.#finished) this.#captions.add(caption, time);
  }

  /** Finishes a file of an ended process. Never rejects. */
  async recover(entry: number): Promise<void> {
    const file = this.#tracks.get(entry)?.file;
    const duration = file ? await recoverFile(join(this.#options.folder, file), this.#options.log) : undefined;
    if (duration !== undefined) this.update(entry, { duration });
  }

  /** Writes the report for the last time. Never rejects; idempotent. */
  finish(): Promise<void> {
    this.#finished ??= this.#finish();
    return this.#finished;
  }

  async #finish(): Promise<void> {
    this.#touch?.stop();
    await this.#captions.close();
    await this.#saving;
    await this.#write({ state: 'finished', endTime: new Date().toISOString() });
    this.#upload?.finish();
    this.#options.onFinished();
  }

  /** Changes during a write are written together afterwards. */
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
    // Omits files without media.
    const tracks = [...this.#tracks.values()].filter(({ file, startTime }) => file === null || startTime !== undefined);
    await writeReportFile(folder, { ...this.#report, ...end, tracks }).catch((error: unknown) => {
      log.error({ err: error, recording: this.id }, 'could not write recording report');
    });
    if (!this.#finished) this.#upload?.add(reportName);
  }

  #captionsGrown(): void {
    this.#upload?.fileGrew(captionsFileName);
    if (this.#report.captions !== undefined) return;
    this.#report.captions = captionsFileName;
    this.#save();
  }

  #keepTouching(): void {
    this.#touch = new Timer(touchInterval, () => {
      const now = new Date();
      this.#captions.flush(now.getTime());
      // If this fails, the disk also fails the recording itself.
      utimes(join(this.#options.folder, reportName), now, now).catch(() => {});
      if (!this.#finished) this.#keepTouching();
    });
  }
}

export type TrackEntry = { startTime?: number | undefined; endTime?: number | undefined } & Partial<
  Pick<ReportTrack, 'width' | 'height' | 'duration' | 'frames' | 'lostPackets' | 'problem'>
>;

/** Finishes an incomplete file. @returns milliseconds; undefined if it has no media */
export async function recoverFile(path: string, log: Log): Promise<number | undefined> {
  try {
    return (await finishMatroska(path)).duration;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') log.warn({ err: error, path }, 'could not finish file of recording');
    return undefined;
  }
}
