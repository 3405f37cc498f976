// Track file: groups frames into clusters and writes them in order, without blocking the recorder.
import { type FileHandle, open } from 'node:fs/promises';
import { cluster, type MatroskaFrame, type MatroskaTrack, matroskaHead } from './matroska.ts';
import { finishMatroska } from './matroska-finish.ts';

/** Maximum milliseconds of media that a crash loses. */
const clusterTime = 500;
const clusterBytes = 1024 * 1024;
/** Maximum of bytes that wait for the disk. */
const maxWaiting = 64 * 1024 * 1024;

export type TrackFileOptions = {
  path: string;
  /** A disk write failed; called once. */
  onFailed: (error: unknown) => void;
};

export class TrackFile {
  readonly #options: TrackFileOptions;
  #frames: MatroskaFrame[] = [];
  #frameBytes = 0;
  /** Arrival of the oldest frame. */
  #since = 0;
  #writing: Promise<void>;
  #waiting = 0;
  #file: FileHandle | undefined;
  #failed = false;

  /** `date`: milliseconds since 1970 of the first frame. */
  constructor(options: TrackFileOptions, track: MatroskaTrack, date: number) {
    this.#options = options;
    this.#writing = open(options.path, 'wx', 0o640).then(
      (file) => {
        this.#file = file;
      },
      (error: unknown) => this.#fail(error),
    );
    this.#write(matroskaHead(track, date));
  }

  /** `now`: milliseconds of any monotonic clock. */
  add(frame: MatroskaFrame, now: number): void {
    const first = this.#frames[0];
    // A cluster that begins with a key frame is a seek point.
    if (first && ((frame.key && !this.#frames.at(-1)?.key) || frame.time - first.time >= clusterTime || this.#frameBytes >= clusterBytes)) {
      this.#flush();
    }
    if (this.#frames.length === 0) this.#since = now;
    this.#frames.push(frame);
    this.#frameBytes += frame.data.length;
  }

  /** Writes frames that have waited long enough; call periodically. */
  tick(now: number): void {
    if (this.#frames.length > 0 && now - this.#since >= clusterTime) this.#flush();
  }

  /** Writes the rest and finishes the file. @returns its duration in milliseconds; undefined if the disk write failed */
  async close(): Promise<number | undefined> {
    this.#flush();
    await this.#writing;
    await this.#file?.close();
    if (this.#failed) return undefined;
    try {
      return (await finishMatroska(this.#options.path)).duration;
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  #flush(): void {
    if (this.#frames.length === 0) return;
    const bytes = cluster(this.#frames);
    this.#frames = [];
    this.#frameBytes = 0;
    if (this.#waiting + bytes.length > maxWaiting) this.#fail(new Error('The disk is too slow'));
    else this.#write(bytes);
  }

  #write(bytes: Buffer): void {
    this.#waiting += bytes.length;
    this.#writing = this.#writing.then(async () => {
      try {
        for (let at = 0; !this.#failed && this.#file && at < bytes.length; ) at += (await this.#file.write(bytes, at)).bytesWritten;
      } catch (error) {
        this.#fail(error);
      }
      this.#waiting -= bytes.length;
    });
  }

  #fail(error: unknown): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#options.onFailed(error);
  }
}
