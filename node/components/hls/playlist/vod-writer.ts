// Video-on-demand writer: stores the playlists of a persistent stream on disk and in S3 while it runs, so that a crash costs only seconds.
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../../common/log.ts';
import type { Upload } from '../../../storage/upload.ts';
import { segmentName } from '../composer/composer-messages.ts';
import {
  captionsName,
  captionsSegmentName,
  mediaName,
  multivariantName,
  multivariantPlaylist,
  type Segment,
  type Variant,
  VodPlaylist,
} from './playlist.ts';

/** Bytes per second for writing and uploading playlists, which grow with the stream. The limit keeps the cost of long streams constant. */
const writeRate = 1024 * 1024;
const uploadRate = 100 * 1024;

export type StreamArchiveOptions = {
  log: Log;
  folder: string;
  /** Target duration in milliseconds. */
  target: number;
  upload: Upload | undefined;
  now: () => number;
};

export class VodWriter {
  readonly #options: StreamArchiveOptions;
  readonly #playlist: VodPlaylist;
  readonly #captions: VodPlaylist;
  /** Writing segments of captions. */
  #texts: Promise<void> = Promise.resolve();
  #writing: Promise<void> = Promise.resolve();
  #busy = false;
  #nextWrite = Number.NEGATIVE_INFINITY;
  #nextUpload = Number.NEGATIVE_INFINITY;

  constructor(options: StreamArchiveOptions) {
    this.#options = options;
    this.#playlist = new VodPlaylist(mediaName, options.target);
    this.#captions = new VodPlaylist(captionsName, options.target);
  }

  /** True if no segment exists. */
  get empty(): boolean {
    return this.#playlist.empty;
  }

  /** An init segment is written. */
  addInit(name: string): void {
    this.#options.upload?.add(name);
  }

  /** A segment is complete. `captions`: its WebVTT, if the stream has captions. */
  addSegment(segment: Segment, variant: Variant, captions: string | undefined): void {
    this.#playlist.add(segment);
    this.#options.upload?.add(segmentName(segment.number));
    if (captions !== undefined) this.#addCaptions(segment, captions);
    const now = this.#options.now();
    if (this.#busy || now < this.#nextWrite) return;
    this.#busy = true;
    this.#writing = this.#write(variant, now)
      .catch((error: unknown) => this.#options.log.warn({ err: error }, 'could not write stream playlist'))
      .finally(() => {
        this.#busy = false;
      });
  }

  /** Writes the playlists for the last time. @throws Error if the disk write fails */
  async finish(variant: Variant): Promise<void> {
    await this.#writing;
    this.#nextUpload = Number.NEGATIVE_INFINITY;
    await this.#write(variant, this.#options.now());
  }

  #addCaptions(segment: Segment, text: string): void {
    const { log, folder, upload } = this.#options;
    const name = captionsSegmentName(segment.number);
    this.#captions.add(segment);
    this.#texts = this.#texts
      .then(() => writeFile(join(folder, name), text, { mode: 0o640 }))
      .then(
        () => upload?.add(name),
        (error: unknown) => log.warn({ err: error }, 'could not write captions of stream'),
      );
  }

  async #write(variant: Variant, now: number): Promise<void> {
    const { folder, upload } = this.#options;
    const text = this.#playlist.text();
    const captions = this.#captions.empty ? undefined : this.#captions.text();
    await this.#texts;
    if (captions !== undefined) await writeWhole(folder, captionsName, captions);
    await writeWhole(folder, mediaName, text);
    await writeWhole(folder, multivariantName, multivariantPlaylist(variant));
    this.#nextWrite = now + (text.length / writeRate) * 1000;
    if (now < this.#nextUpload) return;
    this.#nextUpload = now + (text.length / uploadRate) * 1000;
    if (captions !== undefined) upload?.add(captionsName);
    upload?.add(mediaName);
    upload?.add(multivariantName);
  }
}

/** Writes atomically, so that a crash never leaves a partial file. */
async function writeWhole(folder: string, name: string, text: string): Promise<void> {
  const temporary = join(folder, `.${name}`);
  await writeFile(temporary, text, { mode: 0o640 });
  await rename(temporary, join(folder, name));
}
