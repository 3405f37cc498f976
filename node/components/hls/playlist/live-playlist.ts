// The playlists of a stream as viewers ask for them: held back until what they want is there, made once for all who want the same.
import { promisify } from 'node:util';
import { gzip, gzipSync } from 'node:zlib';
import { ServiceError } from '../../../common/errors.ts';
import type { ContentResponse, PlaylistRequest } from '../../../rooms/shapes/content.ts';
import { withToken } from '../../../rooms/tokens/playlist-token.ts';
import { BlockingRequests } from './blocking-requests.ts';
import type { LiveWindow } from './live-window.ts';
import {
  mediaName,
  mediaPlaylist,
  multivariantName,
  multivariantPlaylist,
  type PlaylistTimes,
  type Segment,
  type Variant,
} from './playlist.ts';

const compress = promisify(gzip);

export type LivePlaylistOptions = {
  times: PlaylistTimes;
  window: LiveWindow;
  /** Undefined before it is known. */
  variant: () => Variant | undefined;
};

type Made = { text: Buffer; zipped: Buffer | Promise<Buffer> | undefined };
/** Small playlists come out nearly as small as by default, in a sixth of the time: with a token each, viewers all need their own at once. */
const compression = { level: 3, memLevel: 6, windowBits: 13 };
/** Bytes up to which compressing here is less work than handing it to another thread. */
const compressedHere = 32 * 1024;
/** What is made of one state of the stream: more, where each viewer has a token of its own, are made each time. */
const maxMade = 256;
/** Requests wait so many target durations (section 6.2.5.2); answers to those that waited may be kept so long (appendix B.1). */
const waitTargets = 3;
const keepTargets = 6;

export class LivePlaylist {
  readonly #options: LivePlaylistOptions;
  readonly #blockingRequests = new BlockingRequests();
  readonly #made = new Map<string, Made>();
  /** Without tokens. */
  readonly #texts = new Map<string, string>();
  /** The part of a new segment that comes next is not announced: how it is to be decoded is not known yet. */
  #interrupted = false;
  #ended = false;

  constructor(options: LivePlaylistOptions) {
    this.#options = options;
  }

  /** Requests that wait now. */
  get waiting(): number {
    return this.#blockingRequests.size;
  }

  /** Players can begin: a segment is whole. */
  get playable(): boolean {
    return this.#options.window.segments[0]?.whole === true && this.#options.variant() !== undefined;
  }

  /** A part came, or a segment ended. */
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

  /** @throws ServiceError `bad_request`, `not_found` where there is none, `unavailable` where it does not come in time */
  async open(file: typeof multivariantName | typeof mediaName, request: PlaylistRequest, signal: AbortSignal): Promise<ContentResponse> {
    const target = Math.ceil(this.#options.times.target / 1000);
    const blocked = file === mediaName && (await this.#waitFor(request, signal));
    await this.#wait('playable', () => this.playable, signal);
    if (!this.playable) throw new ServiceError('not_found', 'The stream has ended before there was anything of it');
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

  /** Resolves when the part is there, or cannot come any more. */
  async waitForPart(segment: number, part: number, signal: AbortSignal): Promise<void> {
    await this.#wait(`${segment}.${part}`, () => this.#options.window.has(segment, part), signal);
  }

  /** @returns whether the request said what it waits for */
  async #waitFor({ msn, part }: PlaylistRequest, signal: AbortSignal): Promise<boolean> {
    const { window, times } = this.#options;
    if (msn === undefined && part !== undefined) throw new ServiceError('bad_request', '_HLS_part needs _HLS_msn');
    if (msn === undefined || times.partTarget === undefined || this.#ended) return false;
    if (window.isFarAhead(msn, part)) throw new ServiceError('bad_request', 'The playlist does not go that far yet');
    await this.#wait(`${msn}.${part ?? ''}`, () => window.has(msn, part), signal);
    return !this.#ended;
  }

  #wait(key: string, isOver: () => boolean, signal: AbortSignal): Promise<void> {
    const deadline = this.#options.times.target * waitTargets;
    return this.#blockingRequests.wait(key, { isOver: () => this.#ended || isOver(), deadline, signal });
  }

  #make(file: string, { skip, token }: PlaylistRequest): Made {
    const delta = skip && file === mediaName;
    const plain = `${file} ${delta}`;
    const key = `${plain} ${token ?? ''}`;
    const known = this.#made.get(key);
    if (known) return known;
    const text = this.#texts.get(plain) ?? (file === mediaName ? this.#media(delta) : this.#multivariant());
    this.#texts.set(plain, text);
    const made: Made = { text: Buffer.from(token === undefined ? text : withToken(text, token)), zipped: undefined };
    if (this.#made.size < maxMade) this.#made.set(key, made);
    return made;
  }

  #multivariant(): string {
    const variant = this.#options.variant();
    if (!variant) throw new ServiceError('not_found', 'There is no stream yet');
    return multivariantPlaylist(variant);
  }

  #media(skip: boolean): string {
    const { times, window } = this.#options;
    const { segments, discontinuitySequence } = window;
    return mediaPlaylist(
      { ...times, segments, discontinuitySequence, hint: this.#interrupted ? undefined : nextPart(window.last, times), ended: this.#ended },
      { skip },
    );
  }
}

function zip(text: Buffer): Buffer | Promise<Buffer> {
  return text.length <= compressedHere ? gzipSync(text, compression) : compress(text, compression);
}

/** The part that comes next. */
function nextPart(last: Segment | undefined, { partsPerSegment }: PlaylistTimes): { segment: number; part: number } | undefined {
  if (!last) return undefined;
  const { number, parts, whole } = last;
  return whole || parts.length >= partsPerSegment ? { segment: number + 1, part: 0 } : { segment: number, part: parts.length };
}

export function isPlaylist(file: string): file is typeof multivariantName | typeof mediaName {
  return file === multivariantName || file === mediaName;
}
