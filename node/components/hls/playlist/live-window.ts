// Live window of a stream: the segments and parts that viewers can load, and their bit rates.
import type { Part, PartNumber, PlaylistTimes, Segment } from './playlist.ts';

/** As reported by the composer. `time`: milliseconds since 1970. */
export type NewPart = Part & { segment: number; time: number };

type OpenSegment = Segment & { parts: Part[] };
/** `finished`: a segment that is complete; `removed`: segments that left the window. */
export type WindowChange = { finished: Segment | undefined; removed: readonly Segment[] };
/** Bits per second; undefined before the first segment. */
export type Bitrates = { peak: number; average: number };

/** Minimum of target durations in a playlist (RFC 8216bis, section 6.2.2), and those whose parts are kept. */
const minTargetDurations = 3;
const partTargets = 4;

export class LiveWindow {
  readonly #times: PlaylistTimes;
  readonly #span: number;
  #segments: OpenSegment[] = [];
  #duration = 0;
  #discontinuitySequence = 0;
  #fresh = false;
  #init = '';
  /** Of the current process; undefined before its first part. */
  #origin: number | undefined;
  #peak = 0;
  #totalBytes = 0;
  #totalDuration = 0;

  /** `span`: milliseconds that are kept; null for all. */
  constructor(times: PlaylistTimes, span: number | null) {
    this.#times = times;
    this.#span = Math.max(span ?? Number.POSITIVE_INFINITY, times.target * minTargetDurations);
  }

  get segments(): readonly Segment[] {
    return this.#segments;
  }

  get last(): Segment | undefined {
    return this.#segments.at(-1);
  }

  /** Milliseconds of all segments. */
  get duration(): number {
    return this.#duration;
  }

  get discontinuitySequence(): number {
    return this.#discontinuitySequence;
  }

  /** Measured over complete segments. */
  get rates(): Bitrates | undefined {
    return this.#totalDuration === 0
      ? undefined
      : {
          peak: Math.max(this.#peak, bitrate(this.#totalBytes, this.#totalDuration)),
          average: bitrate(this.#totalBytes, this.#totalDuration),
        };
  }

  /** Another process writes the following parts. `init`: file name of its init segment. */
  begin(init: string): void {
    this.#init = init;
    this.#origin = undefined;
    this.#fresh = this.#segments.length > 0;
  }

  add({ segment: number, time, duration, independent, offset, length }: NewPart): WindowChange {
    const open = this.last;
    const change: WindowChange = open && open.number !== number ? this.finish() : { finished: undefined, removed: [] };
    let segment = this.#segments.at(-1);
    if (segment?.number !== number) {
      this.#origin ??= time;
      const begun = { init: this.#init, origin: this.#origin, discontinuity: this.#fresh };
      segment = { number, ...begun, time, duration: 0, bytes: 0, whole: false, parts: [] };
      this.#fresh = false;
      this.#segments.push(segment);
    }
    segment.parts.push({ duration, independent, offset, length });
    segment.duration += duration;
    segment.bytes = offset + length;
    this.#duration += duration;
    return change;
  }

  /** Completes the last segment. */
  finish(): WindowChange {
    const finished = this.#segments.at(-1);
    if (!finished || finished.whole) return { finished: undefined, removed: [] };
    finished.whole = true;
    this.#totalBytes += finished.bytes;
    this.#totalDuration += finished.duration;
    // Short segments do not count for the peak (section 4.4.6.2).
    if (finished.duration >= this.#times.target / 2) this.#peak = Math.max(this.#peak, bitrate(finished.bytes, finished.duration));
    this.#forgetParts();
    return { finished, removed: this.#trim() };
  }

  /**
   * True if the segment or this part of it exists. A part number after the last part of a segment means the first part of the next (section
   * 6.2.5.2).
   */
  has(msn: number, part: number | undefined): boolean {
    const last = this.#segments.at(-1);
    if (!last || msn > last.number) return false;
    if (msn < last.number) return true;
    return part === undefined ? last.whole : part < last.parts.length;
  }

  /** True if the requested part is further in the future than a client may request (section 6.2.5.2). */
  isFarAhead(msn: number, part: number | undefined): boolean {
    const last = this.#segments.at(-1);
    if (!last) return false;
    if (msn > last.number + 2) return true;
    if (part === undefined || msn < last.number) return false;
    const { partTarget = 1000 } = this.#times;
    const limit = partTarget < 1000 ? Math.ceil(3000 / partTarget) : 3;
    return part > (msn === last.number ? last.parts.length - 1 : 0) + limit;
  }

  segment(number: number): Segment | undefined {
    const first = this.#segments[0]?.number;
    return first === undefined ? undefined : this.#segments[number - first];
  }

  /** True if this part can still be added. */
  mayCome({ segment, part }: PartNumber): boolean {
    const last = this.#segments.at(-1);
    if (!last) return false;
    if (segment === last.number) return !last.whole && part === last.parts.length;
    return segment === last.number + 1 && part === 0;
  }

  #forgetParts(): void {
    let behind = 0;
    for (const segment of this.#segments.toReversed()) {
      if (behind > this.#times.target * partTargets) {
        if (segment.parts.length === 0) return;
        segment.parts = [];
      }
      behind += segment.duration;
    }
  }

  #trim(): Segment[] {
    const removed: Segment[] = [];
    for (let first = this.#segments[0]; first && this.#duration - first.duration >= this.#span; first = this.#segments[0]) {
      removed.push(first);
      this.#segments.shift();
      this.#duration -= first.duration;
      if (first.discontinuity) this.#discontinuitySequence += 1;
    }
    return removed;
  }
}

function bitrate(bytes: number, duration: number): number {
  return (bytes * 8000) / duration;
}
