// A persistent stream on its way to video on demand: its playlists on disk and in S3 while it lives, so that whatever is lost costs seconds.
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../../common/log.ts';
import type { Upload } from '../../../storage/upload.ts';
import { segmentName } from '../composer/composer-messages.ts';
import { mediaName, multivariantName, multivariantPlaylist, type Segment, type Variant, VodPlaylist } from './playlist.ts';

/** Playlists grow with the stream: bytes per second that are written and uploaded of them, so that a long stream costs no more than a short one. */
const writeRate = 1024 * 1024;
const uploadRate = 100 * 1024;

export type StreamArchiveOptions = {
  log: Log;
  folder: string;
  /** Milliseconds of a segment. */
  target: number;
  upload: Upload | undefined;
  now: () => number;
};

export class VodWriter {
  readonly #options: StreamArchiveOptions;
  readonly #playlist: VodPlaylist;
  #writing: Promise<void> = Promise.resolve();
  #busy = false;
  #nextWrite = Number.NEGATIVE_INFINITY;
  #nextUpload = Number.NEGATIVE_INFINITY;

  constructor(options: StreamArchiveOptions) {
    this.#options = options;
    this.#playlist = new VodPlaylist(options.target);
  }

  /** Whether there is nothing to keep. */
  get empty(): boolean {
    return this.#playlist.empty;
  }

  /** A file that segments are decoded with is written. */
  addInit(name: string): void {
    this.#options.upload?.add(name);
  }

  /** A segment is whole. */
  addSegment(segment: Segment, variant: Variant): void {
    this.#playlist.add(segment);
    this.#options.upload?.add(segmentName(segment.number));
    const now = this.#options.now();
    if (this.#busy || now < this.#nextWrite) return;
    this.#busy = true;
    this.#writing = this.#write(variant, now)
      .catch((error: unknown) => this.#options.log.warn({ err: error }, 'the playlist of a stream cannot be written'))
      .finally(() => {
        this.#busy = false;
      });
  }

  /** Writes the playlists for the last time. @throws Error where the disk refuses */
  async finish(variant: Variant): Promise<void> {
    await this.#writing;
    this.#nextUpload = Number.NEGATIVE_INFINITY;
    await this.#write(variant, this.#options.now());
  }

  async #write(variant: Variant, now: number): Promise<void> {
    const { folder, upload } = this.#options;
    const text = this.#playlist.text();
    await writeWhole(folder, mediaName, text);
    await writeWhole(folder, multivariantName, multivariantPlaylist(variant));
    this.#nextWrite = now + (text.length / writeRate) * 1000;
    if (now < this.#nextUpload) return;
    this.#nextUpload = now + (text.length / uploadRate) * 1000;
    upload?.add(mediaName);
    upload?.add(multivariantName);
  }
}

/** All of it or nothing, whenever the process ends. */
async function writeWhole(folder: string, name: string, text: string): Promise<void> {
  const temporary = join(folder, `.${name}`);
  await writeFile(temporary, text, { mode: 0o640 });
  await rename(temporary, join(folder, name));
}
