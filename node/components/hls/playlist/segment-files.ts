// Segment files: writes parts in order, without blocking the composer.
import { type FileHandle, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { segmentName } from '../composer/composer-messages.ts';

export type SegmentFilesOptions = {
  folder: string;
  /** A disk write failed; called once. Nothing is written afterwards. */
  onFailed: (error: unknown) => void;
};

export type WrittenSegment = { segment: number; offset: number; length: number };

/** Maximum of bytes that wait for the disk. */
const maxWaiting = 32 * 1024 * 1024;

export class SegmentFiles {
  readonly #options: SegmentFilesOptions;
  #last: Promise<void> = Promise.resolve();
  #current: { segment: number; file: FileHandle; offset: number } | undefined;
  #waiting = 0;
  #failed = false;

  constructor(options: SegmentFilesOptions) {
    this.#options = options;
  }

  /** @throws Error if the disk write fails */
  async writeInit(name: string, bytes: Buffer): Promise<void> {
    await writeFile(join(this.#options.folder, name), bytes, { mode: 0o640 });
  }

  /** `onWritten` is called when the part is written. */
  append(segment: number, bytes: Buffer, onWritten: (writtenSegment: WrittenSegment) => void): void {
    if (this.#waiting + bytes.length > maxWaiting) {
      this.#fail(new Error('The disk is too slow'));
      return;
    }
    this.#waiting += bytes.length;
    this.#last = this.#last.then(async () => {
      try {
        if (!this.#failed) onWritten(await this.#write(segment, bytes));
      } catch (error) {
        this.#fail(error);
      }
      this.#waiting -= bytes.length;
    });
  }

  /** Resolves when everything is written. Never rejects. */
  async close(): Promise<void> {
    await this.#last;
    await this.#current?.file.close().catch(() => {});
    this.#current = undefined;
  }

  async #write(segment: number, bytes: Buffer): Promise<WrittenSegment> {
    if (this.#current?.segment !== segment) {
      await this.#current?.file.close();
      this.#current = undefined;
      const file = await open(join(this.#options.folder, segmentName(segment)), 'w', 0o640);
      this.#current = { segment, file, offset: 0 };
    }
    const { file, offset } = this.#current;
    for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at, bytes.length - at, offset + at)).bytesWritten;
    this.#current.offset += bytes.length;
    return { segment, offset, length: bytes.length };
  }

  #fail(error: unknown): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#options.onFailed(error);
  }
}
