// Playlist texts (RFC 8216bis): multivariant, live, delta and video-on-demand playlists.
import { segmentName } from '../composer/composer-messages.ts';

/** Names of the playlists: the multivariant playlist, which players open, and those of media and captions. */
export const multivariantName = 'index.m3u8';
export const mediaName = 'stream.m3u8';
export const captionsName = 'captions.m3u8';
export type RenditionName = typeof mediaName | typeof captionsName;

/** Durations are milliseconds. `offset` and `length`: bytes in the segment file. */
export type Part = { duration: number; independent: boolean; offset: number; length: number };

export type Segment = {
  number: number;
  /** File name of its init segment. */
  init: string;
  /** Milliseconds since 1970 at which the timestamps of its process are 0. */
  origin: number;
  /** True if it does not continue the previous segment, because another process wrote it. */
  discontinuity: boolean;
  /** Milliseconds since 1970 of its first frame. */
  time: number;
  duration: number;
  bytes: number;
  /** True if no part is missing. */
  whole: boolean;
  /** Empty if they are too old to be listed. */
  parts: readonly Part[];
};

/** Durations are milliseconds. `partTarget`: the maximum part duration; undefined without parts (plain HLS). */
export type PlaylistTimes = { target: number; partTarget: number | undefined; partsPerSegment: number };

export type MediaPlaylist = PlaylistTimes & {
  segments: readonly Segment[];
  /** Number of discontinuities before the first segment (section 4.4.3.3). */
  discontinuitySequence: number;
  /** The part that follows. */
  hint: PartNumber | undefined;
  ended: boolean;
  /** True if the stream has captions, whose playlist has the same segments and parts. */
  captions: boolean;
};
export type PartNumber = { segment: number; part: number };

/** File names of a rendition. */
type Rendition = { other: RenditionName; hasInit: boolean; segment: (number: number) => string; part: (part: PartNumber) => string };
const renditions: Readonly<Record<RenditionName, Rendition>> = {
  [mediaName]: {
    other: captionsName,
    hasInit: true,
    segment: segmentName,
    part: ({ segment, part }) => `part-${segment}.${part}.m4s`,
  },
  [captionsName]: {
    other: mediaName,
    hasInit: false,
    segment: captionsSegmentName,
    part: ({ segment, part }) => `captions-${segment}.${part}.vtt`,
  },
};

/** Target durations from the end in which parts are listed (section 4.4.4.9), and that a delta update keeps (section 4.4.3.8). */
const partSpan = 3;
const skipBoundary = 6;

export function captionsSegmentName(number: number): string {
  return `captions-${number}.vtt`;
}

/** Undefined for any other name. */
export function parsePartName(name: string): PartNumber | undefined {
  const match = /^part-(0|[1-9]\d{0,14})\.(0|[1-9]\d{0,5})\.m4s$/.exec(name);
  return match ? { segment: Number(match[1]), part: Number(match[2]) } : undefined;
}

/** A segment of captions, or a part of it. Undefined for any other name. */
export function parseCaptionsName(name: string): { segment: number; part: number | undefined } | undefined {
  const match = /^captions-(0|[1-9]\d{0,14})(?:\.(0|[1-9]\d{0,5}))?\.vtt$/.exec(name);
  return match ? { segment: Number(match[1]), part: match[2] === undefined ? undefined : Number(match[2]) } : undefined;
}

/** The current playlist of a rendition. `skip`: omits what the client already has, if that saves enough. */
export function mediaPlaylist(playlist: MediaPlaylist, name: RenditionName, { skip = false } = {}): string {
  const { segments, target, partTarget, hint, ended, discontinuitySequence } = playlist;
  const rendition = renditions[name];
  const skipped = skip && !ended && partTarget !== undefined ? skippable(segments, target) : 0;
  const lines = [
    '#EXTM3U',
    `#EXT-X-VERSION:${partTarget === undefined ? 7 : 9}`,
    `#EXT-X-TARGETDURATION:${targetSeconds(target)}`,
    ...(partTarget === undefined ? [] : lowLatencyHead(target, partTarget)),
    '#EXT-X-INDEPENDENT-SEGMENTS',
    `#EXT-X-MEDIA-SEQUENCE:${segments[0]?.number ?? hint?.segment ?? 0}`,
    `#EXT-X-DISCONTINUITY-SEQUENCE:${discontinuitySequence}`,
    ...(skipped > 0 ? [`#EXT-X-SKIP:SKIPPED-SEGMENTS=${skipped}`] : []),
  ];
  // Skipped segments keep their EXT-X-MAP in force (section 6.2.5.1), so it is not repeated.
  let init = skipped > 0 ? segments[skipped - 1]?.init : undefined;
  let left = segments.slice(skipped).reduce((sum, { duration }) => sum + duration, 0);
  for (const [index, segment] of segments.entries()) {
    if (index < skipped) continue;
    const withParts = partTarget !== undefined && !ended && left <= target * partSpan && index >= segments.length - partSpan;
    left -= segment.duration;
    if (!segment.whole && !withParts) continue;
    lines.push(...segmentHead(segment, init, rendition));
    init = segment.init;
    if (withParts) lines.push(...segment.parts.map((part, index) => partLine(rendition, { segment: segment.number, part: index }, part)));
    if (segment.whole) lines.push(`#EXTINF:${(segment.duration / 1000).toFixed(5)},`, rendition.segment(segment.number));
  }
  if (ended) lines.push('#EXT-X-ENDLIST');
  else if (partTarget !== undefined) {
    if (hint) lines.push(`#EXT-X-PRELOAD-HINT:TYPE=PART,URI="${rendition.part(hint)}"`);
    if (playlist.captions) lines.push(...renditionReport(rendition.other, segments.at(-1)));
  }
  return `${lines.join('\n')}\n`;
}

/** Complete playlist of an ended stream. */
export class VodPlaylist {
  readonly #target: number;
  readonly #rendition: Rendition;
  #lines: string[] = [];
  #init: string | undefined;
  #first: number | undefined;

  /** `target` in milliseconds. */
  constructor(name: RenditionName, target: number) {
    this.#rendition = renditions[name];
    this.#target = target;
  }

  add(segment: Segment): void {
    const { number, init, duration } = segment;
    this.#first ??= number;
    const head = segmentHead(segment, this.#init, this.#rendition);
    this.#lines.push(...head, `#EXTINF:${(duration / 1000).toFixed(5)},`, this.#rendition.segment(number));
    this.#init = init;
  }

  get empty(): boolean {
    return this.#first === undefined;
  }

  text(): string {
    const head = [
      '#EXTM3U',
      '#EXT-X-VERSION:7',
      `#EXT-X-TARGETDURATION:${targetSeconds(this.#target)}`,
      '#EXT-X-PLAYLIST-TYPE:VOD',
      '#EXT-X-INDEPENDENT-SEGMENTS',
      `#EXT-X-MEDIA-SEQUENCE:${this.#first ?? 0}`,
    ];
    return `${[...head, ...this.#lines, '#EXT-X-ENDLIST'].join('\n')}\n`;
  }
}

/** Bits per second are those of the whole stream (section 4.4.6.2). */
export type Variant = {
  codecs: string;
  width: number;
  height: number;
  framerate: number;
  peak: number;
  average: number;
  captions: boolean;
};

export function multivariantPlaylist({ codecs, width, height, framerate, peak, average, captions }: Variant): string {
  const attributes = [
    `BANDWIDTH=${Math.ceil(peak)}`,
    `AVERAGE-BANDWIDTH=${Math.ceil(average)}`,
    `CODECS="${codecs}"`,
    `RESOLUTION=${width}x${height}`,
    `FRAME-RATE=${framerate.toFixed(3)}`,
    ...(captions ? ['SUBTITLES="captions"'] : []),
  ];
  const media = [
    ...['TYPE=SUBTITLES', 'GROUP-ID="captions"', 'NAME="Captions"', 'AUTOSELECT=YES'],
    ...['CHARACTERISTICS="public.accessibility.transcribes-spoken-dialog"', `URI="${captionsName}"`],
  ];
  const lines = [
    ...['#EXTM3U', '#EXT-X-VERSION:7', '#EXT-X-INDEPENDENT-SEGMENTS'],
    ...(captions ? [`#EXT-X-MEDIA:${media.join(',')}`] : []),
    ...[`#EXT-X-STREAM-INF:${attributes.join(',')}`, mediaName],
  ];
  return `${lines.join('\n')}\n`;
}

function lowLatencyHead(target: number, partTarget: number): string[] {
  const control = [
    'CAN-BLOCK-RELOAD=YES',
    `CAN-SKIP-UNTIL=${decimal(target * skipBoundary)}`,
    `PART-HOLD-BACK=${decimal(partTarget * 3)}`,
    `HOLD-BACK=${decimal(target * 3)}`,
  ];
  return [`#EXT-X-PART-INF:PART-TARGET=${decimal(partTarget)}`, `#EXT-X-SERVER-CONTROL:${control.join(',')}`];
}

/** Number of leading segments that a client with an earlier playlist does not need. */
function skippable(segments: readonly Segment[], target: number): number {
  let behind = 0;
  for (let index = segments.length - 1; index >= 0; index -= 1) {
    if (behind >= target * skipBoundary) return index + 1;
    behind += segments[index]?.duration ?? 0;
  }
  return 0;
}

function segmentHead({ init, discontinuity, time }: Segment, before: string | undefined, { hasInit }: Rendition): string[] {
  return [
    ...(discontinuity ? ['#EXT-X-DISCONTINUITY'] : []),
    ...(!hasInit || init === before ? [] : [`#EXT-X-MAP:URI="${init}"`]),
    `#EXT-X-PROGRAM-DATE-TIME:${new Date(time).toISOString()}`,
  ];
}

function partLine({ part: nameOf, hasInit }: Rendition, number: PartNumber, { duration, independent }: Part): string {
  // WebVTT has no key frames.
  const alone = independent || !hasInit ? ',INDEPENDENT=YES' : '';
  return `#EXT-X-PART:DURATION=${(duration / 1000).toFixed(5)},URI="${nameOf(number)}"${alone}`;
}

/** The position of the other rendition, for players that change to it (section 4.4.5.4). */
function renditionReport(other: RenditionName, last: Segment | undefined): string[] {
  if (!last) return [];
  return [`#EXT-X-RENDITION-REPORT:URI="${other}",LAST-MSN=${last.number},LAST-PART=${Math.max(0, last.parts.length - 1)}`];
}

/** Whole seconds; no rounded segment duration exceeds them (section 4.4.3.1). */
function targetSeconds(target: number): number {
  return Math.ceil(target / 1000);
}

/** Seconds, rounded up to milliseconds. */
function decimal(milliseconds: number): string {
  return (Math.ceil(milliseconds) / 1000).toFixed(3);
}
