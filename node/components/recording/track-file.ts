// The file of one track: gathers frames to clusters and writes them in order, without holding up who brings them.
import { type FileHandle, open } from 'node:fs/promises';
import { cluster, type MatroskaFrame, type MatroskaTrack, matroskaHead } from './matroska.ts';
import { finishMatroska } from './matroska-finish.ts';

/** Milliseconds of media that a crash costs at most. */
const clusterTime = 500;
const clusterBytes = 1024 * 1024;
/** Bytes that may wait for the disk. */
const maxWaiting = 64 * 1024 * 1024;

export type TrackFileOptions = {
  path: string;
  /** The disk refuses; called once. */
  onFailed: (error: unknown) => void;
};

export class TrackFile {
  readonly #options: TrackFileOptions;
  #frames: MatroskaFrame[] = [];
  #frameBytes = 0;
  /** When the oldest of them came. */
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

  /** `now`: milliseconds of any clock that does not go back. */
  add(frame: MatroskaFrame, now: number): void {
    const first = this.#frames[0];
    // A cluster that begins with a key frame can be played from there.
    if (first && ((frame.key && !this.#frames.at(-1)?.key) || frame.time - first.time >= clusterTime || this.#frameBytes >= clusterBytes)) {
      this.#flush();
    }
    if (this.#frames.length === 0) this.#since = now;
    this.#frames.push(frame);
    this.#frameBytes += frame.data.length;
  }

  /** Writes what has waited long enough; to be called from time to time. */
  tick(now: number): void {
    if (this.#frames.length > 0 && now - this.#since >= clusterTime) this.#flush();
  }

  /** Writes the rest and finishes the file. @returns milliseconds that it lasts; undefined where the disk refused */
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
