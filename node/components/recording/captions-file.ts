// Captions file of a recording (WebVTT): appends cues in the order of their start, as the format requires.
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Caption } from '../../rooms/interfaces.ts';
import { type Cue, cueBlock, cuesOf, vttHeader } from '../captions/webvtt.ts';

export const captionsFileName = 'captions.vtt';

export type CaptionsFileOptions = {
  folder: string;
  /** Time of 00:00:00.000, in milliseconds since 1970. */
  zero: number;
  /** The file has new cues. */
  onGrown: () => void;
  /** Cues are omitted, because the disk is full or too many wait; called once. */
  onOmitted: (error: Error) => void;
};

/** Maximum of cues whose time has not come, and bytes of the file. */
const maxPending = 1000;
const maxBytes = 32 * 1024 * 1024;

export class CaptionsFile {
  readonly #options: CaptionsFileOptions;
  /** By start. */
  #pending: Cue[] = [];
  #written = 0;
  #bytes = 0;
  #last: Promise<void> = Promise.resolve();
  /** Start of the last written cue. */
  #at = 0;
  #omitted = false;

  constructor(options: CaptionsFileOptions) {
    this.#options = options;
  }

  /** `time`: milliseconds since 1970. */
  add(caption: Caption, time: number): void {
    const cues = cuesOf(caption, Math.max(time, this.#at));
    if (this.#pending.length + cues.length > maxPending) this.#omit(new Error('Too many captions wait'));
    else this.#pending = [...this.#pending, ...cues].sort((one, other) => one.start - other.start);
    this.flush(time);
  }

  /** Writes the cues that have started: later ones start after them. */
  flush(time: number): void {
    const started = this.#pending.filter(({ start }) => start <= time);
    if (started.length === 0) return;
    this.#pending = this.#pending.slice(started.length);
    this.#at = started.at(-1)?.start ?? time;
    let text = this.#written === 0 ? vttHeader : '';
    for (const cue of started) {
      this.#written += 1;
      text += cueBlock(cue, this.#written, this.#options.zero);
    }
    this.#append(text);
  }

  /** Writes all cues. Never rejects. */
  async close(): Promise<void> {
    this.flush(Number.POSITIVE_INFINITY);
    await this.#last;
  }

  #append(text: string): void {
    const { folder, onGrown } = this.#options;
    this.#bytes += Buffer.byteLength(text);
    if (this.#bytes > maxBytes) {
      this.#omit(new Error('The captions file is too large'));
      return;
    }
    this.#last = this.#last
      .then(() => appendFile(join(folder, captionsFileName), text, { mode: 0o640 }))
      .then(onGrown, (error: Error) => this.#omit(error));
  }

  #omit(error: Error): void {
    if (!this.#omitted) this.#options.onOmitted(error);
    this.#omitted = true;
  }
}
