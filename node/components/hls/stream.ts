// Composed stream: turns the output of its composer processes into playlists, live and stored.
import { join } from 'node:path';
import { ServiceError } from '../../../api/errors.ts';
import type { Log } from '../../common/log.ts';
import type { Caption } from '../../rooms/interfaces.ts';
import type { ContentRequest, ContentResponse } from '../../rooms/services/content.ts';
import { openContentFile, openFileResponse } from '../../storage/content-file.ts';
import { contentTypeOf } from '../../storage/content-types.ts';
import { segmentName } from './composer/composer-messages.ts';
import { LivePlaylist } from './playlist/live-playlist.ts';
import { LiveWindow, type NewPart, type WindowChange } from './playlist/live-window.ts';
import {
  type Part,
  type PartNumber,
  type PlaylistTimes,
  parseCaptionsName,
  parsePartName,
  type Segment,
  type Variant,
} from './playlist/playlist.ts';
import { StreamCaptions } from './playlist/stream-captions.ts';
import type { VodWriter } from './playlist/vod-writer.ts';
import { StreamFiles } from './stream-files.ts';

export type StreamOptions = {
  log: Log;
  folder: string;
  times: PlaylistTimes;
  /** Milliseconds that viewers can seek back; null for the whole stream. */
  window: number | null;
  video: { width: number; height: number; framerate: number };
  /** Nominal bits per second. */
  bitrate: number;
  /** Number of its first segment. */
  firstSegment: number;
  /** True if the stream has captions. */
  captions: boolean;
  /** Set for a persistent stream. */
  archive: VodWriter | undefined;
  onPlayable: () => void;
  now: () => number;
};

/** Peak bit rate relative to the nominal one, until it is measured. */
const peakFactor = 1.5;
/** Minimum duration of all parts but the last of a segment, as a share of the part target (RFC 8216bis, section 4.4.4.9). */
const minPartFill = 0.85;
/** How long a viewer counts after its last request: target durations, and minimum milliseconds. Players reload at least every target duration. */
const viewerTtl = { targets: 3, minMs: 10_000 } as const;
/** Number of segments that a measurement requires. */
const measuredAfter = 3;
/** Seconds for which caches may keep immutable files: segment names are never reused. */
const keepFiles = 24 * 3600;
const immutable = { 'cache-control': `max-age=${keepFiles}, immutable` };

export class Stream {
  readonly #options: StreamOptions;
  readonly #window: LiveWindow;
  readonly #playlist: LivePlaylist;
  readonly #files: StreamFiles;
  readonly #captions: StreamCaptions | undefined;
  readonly #inits = new Set<string>();
  readonly #first: number;
  #codecs: string | undefined;
  /** A short part that is published together with the next one. */
  #held: NewPart | undefined;
  #playable = false;
  #segments = 0;
  #ended = false;
  #omittedCaptions = false;
  /** Time of the last request of a viewer. */
  #requestedAt = Number.NEGATIVE_INFINITY;

  constructor(options: StreamOptions) {
    this.#options = options;
    const { folder, log, times, captions, archive } = options;
    this.#first = options.firstSegment;
    this.#window = new LiveWindow(times, options.window);
    this.#files = new StreamFiles(folder, { log, keep: archive !== undefined });
    this.#captions = captions ? new StreamCaptions() : undefined;
    this.#playlist = new LivePlaylist({ times, window: this.#window, variant: () => this.#variant(), captions });
  }

  get folder(): string {
    return this.#files.folder;
  }

  /** Number of waiting requests. */
  get waiting(): number {
    return this.#playlist.waiting;
  }

  /** True if a viewer requested a file recently, or waits for one. */
  get watched(): boolean {
    const { now, times } = this.#options;
    return this.waiting > 0 || now() - this.#requestedAt < Math.max(viewerTtl.targets * times.target, viewerTtl.minMs);
  }

  /** First segment and init file name of the next process. */
  next(): { firstSegment: number; init: string } {
    const { last } = this.#window;
    return { firstSegment: last ? last.number + 1 : this.#first, init: `init-${this.#inits.size}-${this.#first}.mp4` };
  }

  /** A process has written this init segment and adds parts from here. */
  begin(init: string, codecs: string): void {
    this.#inits.add(init);
    this.#codecs ??= codecs;
    this.#window.begin(init);
    this.#options.archive?.addInit(init);
  }

  add(part: NewPart): void {
    if (this.#ended) return;
    this.#addHeld();
    // Only the end of its process shortens a part. Published at once, it might have to be followed by another part.
    if (part.duration < minPartFill * (this.#options.times.partTarget ?? 0)) {
      this.#held = part;
      return;
    }
    this.#publish(part);
    this.#playlist.changed();
  }

  /** Shows what a speaker said, from `time` on (milliseconds since 1970). */
  addCaption(caption: Caption, time: number): void {
    if (this.#ended || !this.#captions || this.#captions.add(caption, time) || this.#omittedCaptions) return;
    this.#omittedCaptions = true;
    this.#options.log.warn('too many captions in stream, some omitted');
  }

  /** The process ended: its last segment ends with the last reported part. Never rejects. */
  async interrupted(): Promise<void> {
    await this.#finishLast();
    this.#playlist.changed({ interrupted: true });
  }

  /** Ends the stream. Never rejects. */
  async end(): Promise<void> {
    if (this.#ended) return;
    // Unlike an interruption, the end must reach waiting requests at once.
    await this.#finishLast();
    this.#ended = true;
    this.#playlist.end();
  }

  /** All files were moved to this folder. */
  moved(folder: string): void {
    this.#files.moved(folder);
  }

  /** Deletes its files. Never rejects. */
  remove(): Promise<void> {
    return this.#files.removeAll();
  }

  /** Properties of the whole stream; undefined if it has no media. */
  summary(): Variant | undefined {
    return this.#window.rates && this.#variant(true);
  }

  async open(request: ContentRequest): Promise<ContentResponse> {
    const { file, signal, playlist } = request;
    this.#requestedAt = this.#options.now();
    if (this.#playlist.has(file)) {
      const plain = { msn: undefined, part: undefined, skip: false, token: undefined, gzip: false };
      return this.#playlist.open(file, playlist ?? plain, signal);
    }
    const part = parsePartName(file);
    if (part) return this.#openPart(request, part);
    if (this.#captions && file.endsWith('.vtt')) return this.#openCaptions(request, this.#captions);
    if (!this.#inits.has(file) && !this.#hasSegment(file)) throw this.#missing(file);
    const handle = await openContentFile(join(this.folder, file));
    if (!handle) throw this.#missing(file);
    return openFileResponse(handle, request, immutable);
  }

  async #openPart(request: ContentRequest, number: PartNumber): Promise<ContentResponse> {
    const { part } = await this.#waitForPart(request, number);
    return whole(request.file, await this.#files.part(number.segment, part));
  }

  async #openCaptions(request: ContentRequest, captions: StreamCaptions): Promise<ContentResponse> {
    const { file } = request;
    const name = parseCaptionsName(file);
    if (!name) throw this.#missing(file);
    const { segment: number, part: index } = name;
    if (index === undefined) {
      const segment = this.#loadable(number);
      if (!segment) throw this.#missing(file);
      return whole(file, Buffer.from(captions.text(segment)));
    }
    const { segment, part } = await this.#waitForPart(request, { segment: number, part: index });
    const before = segment.parts.slice(0, index).reduce((sum, { duration }) => sum + duration, 0);
    return whole(file, Buffer.from(captions.text({ time: segment.time + before, duration: part.duration, origin: segment.origin })));
  }

  /** @throws ServiceError `not_found`, `unavailable` after the timeout */
  async #waitForPart({ file, signal }: ContentRequest, number: PartNumber): Promise<{ segment: Segment; part: Part }> {
    if (this.#options.times.partTarget === undefined) throw this.#missing(file);
    if (!this.#ended && this.#window.mayCome(number)) await this.#playlist.waitForPart(number.segment, number.part, signal);
    const segment = this.#window.segment(number.segment);
    const part = segment?.parts[number.part];
    if (!segment || !part) throw this.#missing(file);
    return { segment, part };
  }

  #hasSegment(file: string): boolean {
    const number = Number(/^segment-(\d{1,15})\.m4s$/.exec(file)?.[1]);
    if (!Number.isSafeInteger(number) || file !== segmentName(number)) return false;
    return this.#loadable(number) !== undefined;
  }

  #loadable(number: number): Segment | undefined {
    const segment = this.#window.segment(number);
    return segment?.whole ? segment : this.#files.leaving(number);
  }

  #addHeld(): void {
    const held = this.#held;
    this.#held = undefined;
    if (held) this.#publish(held);
  }

  #publish(part: NewPart): void {
    const change = this.#window.add(part);
    const { time, duration } = part;
    this.#captions?.published({ time, duration, origin: this.#window.last?.origin ?? time });
    this.#take(change);
  }

  async #finishLast(): Promise<void> {
    this.#addHeld();
    const { last } = this.#window;
    if (last && !last.whole) await this.#files.cut(last);
    this.#take(this.#window.finish());
  }

  #take({ finished, removed }: WindowChange): void {
    const { archive, now } = this.#options;
    if (finished) {
      this.#segments += 1;
      const variant = this.#variant(true);
      if (variant) archive?.addSegment(finished, variant, this.#captions?.text(finished));
    }
    // Viewers that have a playlist with these segments may still load them (RFC 8216bis, section 6.2.2).
    const { duration, segments } = this.#window;
    if (removed.length > 0) this.#files.leave(removed, now() + duration + this.#options.times.target);
    if (segments[0]) this.#captions?.forget(segments[0].time - duration - this.#options.times.target);
    void this.#files.sweep(now());
    if (!this.#playable && this.#playlist.playable) {
      this.#playable = true;
      this.#options.onPlayable();
    }
  }

  /** `measured`: uses measured bit rates only. */
  #variant(measured = false): Variant | undefined {
    const codecs = this.#codecs;
    if (codecs === undefined) return undefined;
    const { video, bitrate, captions } = this.#options;
    const bitrates = this.#window.rates;
    const sure = bitrates && (measured || this.#segments >= measuredAfter);
    const peak = measured ? (bitrates?.peak ?? bitrate) : Math.max(bitrate * peakFactor, bitrates?.peak ?? 0);
    return { codecs, ...video, peak, average: sure ? bitrates.average : bitrate, captions };
  }

  #missing(file: string): ServiceError {
    return new ServiceError('not_found', `This stream has no file ${file}`);
  }
}

function whole(file: string, bytes: Buffer): ContentResponse {
  const headers = { 'content-type': contentTypeOf(file), 'content-length': String(bytes.length), ...immutable };
  return { status: 200, headers, body: undefined, bytes };
}
