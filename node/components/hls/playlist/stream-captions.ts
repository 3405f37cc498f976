// Captions of a stream: cues of the room, as WebVTT of each segment and part (RFC 8216, section 3.5).
import type { Caption } from '../../../rooms/interfaces.ts';
import { type Cue, cueBlock, cuesOf, maxCueDuration, timestamp, vttHeader } from '../../captions/webvtt.ts';

/** Part of a stream. Times in milliseconds since 1970; at `origin` the timestamps of its media are 0. */
export type Span = { time: number; duration: number; origin: number };
type NumberedCue = Cue & { id: number };

/** Maximum of cues that wait or are shown; further ones are omitted. */
const maxPending = 64;
/** Maximum of cues in memory: beyond it, the oldest segments lose theirs. */
const maxCues = 20_000;
/** Milliseconds by which the composer may be late; a larger difference is one of clocks. */
const maxAhead = 60_000;
/**
 * The cues have the time of the media. hls.js ignores a map whose MPEGTS is the start of its timeline, which 0 often is, and never a
 * millisecond.
 */
const map = `X-TIMESTAMP-MAP=MPEGTS:90,LOCAL:${timestamp(1)}\n`;

export class StreamCaptions {
  /** By start. */
  #cues: NumberedCue[] = [];
  #numbers = 0;
  /** End of the published parts: they do not change. */
  #published = Number.NEGATIVE_INFINITY;
  #origin: number | undefined;

  /** `now`: milliseconds since 1970. @returns false if cues are omitted, because too many wait */
  add(caption: Caption, now: number): boolean {
    const start = Math.max(this.#published, this.#inReach(now));
    const cues = cuesOf(caption, start);
    const pending = this.#cues.slice(this.#firstAfter(start - maxCueDuration)).filter(({ end }) => end > start).length;
    const taken = cues.slice(0, Math.max(0, maxPending - pending));
    for (const cue of taken) {
      this.#numbers += 1;
      this.#cues.push({ ...cue, id: this.#numbers });
    }
    this.#cues.sort((one, other) => one.start - other.start || one.id - other.id);
    this.#cues.splice(0, this.#cues.length - maxCues);
    return taken.length === cues.length;
  }

  /** A part will be published. Cues of the time before a new origin, which has no media, begin with it. */
  published({ time, duration, origin }: Span): void {
    if (origin !== this.#origin) {
      for (const cue of this.#cues) {
        if (cue.start < this.#published || cue.start >= origin) continue;
        cue.end += origin - cue.start;
        cue.start = origin;
      }
      this.#origin = origin;
    }
    this.#published = time + duration;
  }

  /** WebVTT with all cues of this time, each with its whole time. */
  text({ time, duration, origin }: Span): string {
    const end = time + duration;
    const first = this.#firstAfter(time - maxCueDuration);
    let text = vttHeader + map;
    for (const cue of this.#cues.slice(first)) {
      if (cue.start >= end) break;
      if (cue.end > time) text += cueBlock(cue, cue.id, origin);
    }
    return text;
  }

  /** No segment before this time is loaded any more. */
  forget(time: number): void {
    this.#cues.splice(0, this.#firstAfter(time - maxCueDuration));
  }

  #inReach(now: number): number {
    return this.#published === Number.NEGATIVE_INFINITY ? now : Math.min(now, this.#published + maxAhead);
  }

  /** Index of the first cue that starts after this time. */
  #firstAfter(time: number): number {
    let [low, high] = [0, this.#cues.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#cues[middle]?.start ?? 0) > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
