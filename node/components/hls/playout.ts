// When what was captured is seen and heard: a fixed while later, and a little more for a source that is late.
import { TrackClock } from '../rtp/track-clock.ts';

/** Milliseconds from capture to playout where arrival is steady: time for the network and for decoding. */
export const playoutDelay = 350;
/** Milliseconds that a missing packet is waited for. Pictures are sent again; lost sound does not come any more, it is only out of order. */
export const jitterBufferDelay = { picture: 200, sound: 100 } as const;
/** Milliseconds that a source may be late beyond it. */
const maxExtra = 1500;
/** Milliseconds of them for its pictures, so that there is time to send packets again: those that are later yet are seen when they come. */
const maxExtraForPictures = 150;
/** Added to what is missing, in milliseconds. */
const spare = 30;
/** One change is waited for before another: what was late together is late once. */
const settling = 500;
/** Milliseconds after which a source that is early again gets less, and how early it may stay. */
const period = 20_000;
const earlyEnough = 80;

/** Of the tracks of one source, which stay together. Times are milliseconds. */
export class PlayoutDelay {
  #extra = 0;
  #changed = Number.NEGATIVE_INFINITY;
  #least = Number.POSITIVE_INFINITY;

  get value(): number {
    return playoutDelay + this.#extra;
  }

  /** `margin`: how long before its turn sound came; below 0 it came too late. */
  came(margin: number, now: number): void {
    this.#came(margin, now, maxExtra);
  }

  /** The same of a picture. */
  pictureCame(margin: number, now: number): void {
    this.#came(margin, now, maxExtraForPictures);
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

/** A difference from arrival, in milliseconds, that no network makes: the source counts anew. */
const maxDifference = 5000;

/** Says of the timestamps of one track when they are due. Times are milliseconds since 1970. */
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

  /** From a sender report. */
  reported(timestamp: number, time: number): void {
    this.#clock.reported(timestamp, time);
  }

  dueAt(timestamp: number): number {
    return (this.#clock.timeOf(timestamp) ?? 0) + this.#delay.value;
  }
}
