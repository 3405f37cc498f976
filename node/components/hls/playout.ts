// Playout schedule: captured media is played after a fixed delay, with extra delay for a late source.
import { TrackClock } from '../rtp/track-clock.ts';

/** Milliseconds from capture to playout at constant arrival: time for network and decoding. */
export const playoutDelay = 350;
/**
 * Milliseconds to wait for a missing packet. Video is retransmitted; audio packets are only reordered, because lost ones are not sent
 * again.
 */
export const jitterBufferDelay = { frame: 200, audio: 100 } as const;
/** Maximum extra milliseconds for a late source. */
const maxExtra = 1500;
/** Maximum extra milliseconds for its video, so that retransmissions can arrive. Later frames are shown when they arrive. */
const maxExtraForFrames = 150;
/** Milliseconds added to the measured lateness. */
const spare = 30;
/** Milliseconds to wait after a change before the next one: packets that were late together count once. */
const settling = 500;
/** Milliseconds after which the delay of an early source shrinks, and how early it may stay. */
const period = 20_000;
const earlyEnough = 80;

/** Playout delay shared by the tracks of one source. Times are milliseconds. */
export class PlayoutDelay {
  #extra = 0;
  #changed = Number.NEGATIVE_INFINITY;
  #least = Number.POSITIVE_INFINITY;

  get value(): number {
    return playoutDelay + this.#extra;
  }

  /** `margin`: milliseconds between arrival and playout of audio; negative if it arrived too late. */
  came(margin: number, now: number): void {
    this.#came(margin, now, maxExtra);
  }

  /** The same for a frame. */
  frameCame(margin: number, now: number): void {
    this.#came(margin, now, maxExtraForFrames);
  }

  #came(margin: number, now: number, most: number): void {
    if (now - this.#changed < settling) return;
    this.#least = Math.min(this.#least, margin);
    if (margin < 0 && this.#extra < most) this.#set(Math.min(most, this.#extra + spare - margin), now);
    else if (now - this.#changed >= period) this.#set(this.#extra - Math.max(0, this.#least - earlyEnough), now);
  }

  #set(extra: number, now: number): void {
    this.#extra = Math.max(0, extra);
    this.#changed = now;
    this.#least = Number.POSITIVE_INFINITY;
  }
}

/** Milliseconds of difference from arrival that no network causes: the source restarted its timestamps. */
const maxDifference = 5000;

/** Maps the timestamps of one track to playout times. Times are milliseconds since 1970. */
export class TrackTiming {
  readonly #clockRate: number;
  readonly #delay: PlayoutDelay;
  #clock: TrackClock;

  constructor(clockRate: number, delay: PlayoutDelay) {
    this.#clockRate = clockRate;
    this.#delay = delay;
    this.#clock = new TrackClock({ clockRate });
  }

  arrived(timestamp: number, time: number): void {
    const known = this.#clock.timeOf(timestamp);
    if (known !== undefined && Math.abs(known - time) > maxDifference) this.#clock = new TrackClock({ clockRate: this.#clockRate });
    this.#clock.arrived(timestamp, time);
  }

  /** From an RTCP sender report. */
  reported(timestamp: number, time: number): void {
    this.#clock.reported(timestamp, time);
  }

  dueAt(timestamp: number): number {
    return (this.#clock.timeOf(timestamp) ?? 0) + this.#delay.value;
  }
}
