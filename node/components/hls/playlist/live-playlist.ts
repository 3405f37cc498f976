// Live playlists of a stream: holds requests until the requested part exists, and caches responses for equal requests.
import { promisify } from 'node:util';
import { gzip, gzipSync } from 'node:zlib';
import { ServiceError } from '../../../../api/errors.ts';
import type { ContentResponse, PlaylistRequest } from '../../../rooms/services/content.ts';
import { withToken } from '../../../rooms/tokens/playlist-token.ts';
import { BlockingRequests } from './blocking-requests.ts';
import type { LiveWindow } from './live-window.ts';
import {
  captionsName,
  mediaName,
  mediaPlaylist,
  multivariantName,
  multivariantPlaylist,
  type PartNumber,
  type PlaylistTimes,
  type RenditionName,
  type Segment,
  type Variant,
} from './playlist.ts';

const compress = promisify(gzip);

export type LivePlaylistOptions = {
  times: PlaylistTimes;
  window: LiveWindow;
  /** Undefined until the stream has a segment. */
  variant: () => Variant | undefined;
  /** True if the stream has captions. */
  captions: boolean;
};
type PlaylistName = typeof multivariantName | RenditionName;

type Made = { text: Buffer; zipped: Buffer | Promise<Buffer> | undefined };
/**
 * Output is nearly as small as with the defaults, in a sixth of the time. With a token each, every viewer needs a separate playlist at
 * once.
 */
const compression = { level: 3, memLevel: 6, windowBits: 13 };
/** Bytes up to which synchronous compression is cheaper than a thread of the pool. */
const compressedHere = 32 * 1024;
/** Maximum of cached responses per state of the stream. Beyond it, with a token per viewer, responses are built for each request. */
const maxMade = 256;
/** Target durations that a request waits at most (section 6.2.5.2), and that responses to waiting requests may be cached (appendix B.1). */
const waitTargets = 3;
const keepTargets = 6;

export class LivePlaylist {
  readonly #options: LivePlaylistOptions;
  readonly #blockingRequests = new BlockingRequests();
  readonly #made = new Map<string, Made>();
  /** Playlists without tokens. */
  readonly #texts = new Map<string, string>();
  /** The next part of a new segment is not announced while its init segment is unknown. */
  #interrupted = false;
  #ended = false;

  constructor(options: LivePlaylistOptions) {
    this.#options = options;
  }

  /** Number of waiting requests. */
  get waiting(): number {
    return this.#blockingRequests.size;
  }

  /** True if players can start: one segment is complete. */
  get playable(): boolean {
    return this.#options.window.segments[0]?.whole === true && this.#options.variant() !== undefined;
  }

  /** A part was added or a segment ended. */
  changed({ interrupted = false } = {}): void {
    this.#interrupted = interrupted;
    this.#made.clear();
    this.#texts.clear();
    this.#blockingRequests.check();
  }

  end(): void {
    this.#ended = true;
    this.changed();
  }

  /** True if the stream has a playlist of this name. */
  has(file: string): file is PlaylistName {
    return file === multivariantName || file === mediaName || (file === captionsName && this.#options.captions);
  }

  /** @throws ServiceError `bad_request`, `not_found` if the stream has no media, `unavailable` after the timeout */
  async open(file: PlaylistName, request: PlaylistRequest, signal: AbortSignal): Promise<ContentResponse> {
    const target = Math.ceil(this.#options.times.target / 1000);
    const blocked = file !== multivariantName && (await this.#waitFor(request, signal));
    await this.#wait('playable', () => this.playable, signal);
    if (!this.playable) throw new ServiceError('not_found', 'The stream ended before its first segment');
    const made = this.#make(file, request);
    if (request.gzip) made.zipped ??= zip(made.text);
    const bytes = request.gzip && made.zipped ? await made.zipped : made.text;
    const age = blocked ? target * keepTargets : Math.max(1, Math.floor(target / 2));
    const headers = {
      'content-type': 'application/vnd.apple.mpegurl',
      'content-length': String(bytes.length),
      'cache-control': `max-age=${age}`,
      vary: 'accept-encoding',
      ...(request.gzip && { 'content-encoding': 'gzip' }),
    };
    return { status: 200, headers, body: undefined, bytes };
  }

  /** Resolves when the part exists or cannot be produced any more. */
  async waitForPart(segment: number, part: number, signal: AbortSignal): Promise<void> {
    await this.#wait(`${segment}.${part}`, () => this.#options.window.has(segment, part), signal);
  }

  /** @returns true if the request was a blocking request */
  async #waitFor({ msn, part }: PlaylistRequest, signal: AbortSignal): Promise<boolean> {
    const { window, times } = this.#options;
    if (msn === undefined && part !== undefined) throw new ServiceError('bad_request', '_HLS_part requires _HLS_msn');
    if (msn === undefined || times.partTarget === undefined || this.#ended) return false;
    if (window.isFarAhead(msn, part)) throw new ServiceError('bad_request', '_HLS_msn is too far in the future');
    await this.#wait(`${msn}.${part ?? ''}`, () => window.has(msn, part), signal);
    return !this.#ended;
  }

  #wait(key: string, isOver: () => boolean, signal: AbortSignal): Promise<void> {
    const deadline = this.#options.times.target * waitTargets;
    return this.#blockingRequests.wait(key, { isOver: () => this.#ended || isOver(), deadline, signal });
  }

  #make(file: PlaylistName, { skip, token }: PlaylistRequest): Made {
    const delta = skip && file !== multivariantName;
    const plain = `${file} ${delta}`;
    const key = `${plain} ${token ?? ''}`;
    const known = this.#made.get(key);
    if (known) return known;
    const text = this.#texts.get(plain) ?? (file === multivariantName ? this.#multivariant() : this.#media(file, delta));
    this.#texts.set(plain, text);
    const made: Made = { text: Buffer.from(token === undefined ? text : withToken(text, token)), zipped: undefined };
    if (this.#made.size < maxMade) this.#made.set(key, made);
    return made;
  }

  #multivariant(): string {
    const variant = this.#options.variant();
    if (!variant) throw new ServiceError('not_found', 'The stream has not started yet');
    return multivariantPlaylist(variant);
  }

  #media(name: RenditionName, skip: boolean): string {
    const { times, window, captions } = this.#options;
    const { segments, discontinuitySequence } = window;
    const hint = this.#interrupted ? undefined : nextPart(window.last, times);
    return mediaPlaylist({ ...times, segments, discontinuitySequence, hint, ended: this.#ended, captions }, name, { skip });
  }
}

function zip(text: Buffer): Buffer | Promise<Buffer> {
  return text.length <= compressedHere ? gzipSync(text, compression) : compress(text, compression);
}

/** The part that follows the last one. */
function nextPart(last: Segment | undefined, { partsPerSegment }: PlaylistTimes): PartNumber | undefined {
  if (!last) return undefined;
  const { number, parts, whole } = last;
  return whole || parts.length >= partsPerSegment ? { segment: number + 1, part: 0 } : { segment: number, part: parts.length };
}
