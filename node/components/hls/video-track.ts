// One track's pictures: packets in order, put together, decoded when they are due.
import { AvError } from '../av/native/ffmpeg.ts';
import { Picture } from '../av/native/picture.ts';
import { VideoDecoder } from '../av/native/video-decoder.ts';
import { Av1Format } from '../rtp/av1.ts';
import { H264Format, startCodes } from '../rtp/h264.ts';
import { JitterBuffer } from '../rtp/jitter-buffer.ts';
import type { RtpPacket } from '../rtp/packets.ts';
import { type Picture as EncodedPicture, VideoAssembler, type VideoFormat } from '../rtp/video-assembler.ts';
import { Vp8Format } from '../rtp/vp8.ts';
import { Vp9Format } from '../rtp/vp9.ts';
import type { ComposedEncoding } from './composer-messages.ts';
import { jitterWait, type PlayoutDelay, TrackTiming } from './playout.ts';

export type VideoTrackOptions = {
  source: string;
  encoding: Exclude<ComposedEncoding, 'opus'>;
  clockRate: number;
  delay: PlayoutDelay;
  onKeyNeeded: () => void;
};

const formats = {
  vp8: () => new Vp8Format(),
  vp9: () => new Vp9Format(),
  h264: () => new H264Format(),
  av1: () => new Av1Format(),
} as const satisfies Record<VideoTrackOptions['encoding'], () => VideoFormat>;

/** Pictures that wait for their time, and their bytes. */
const maxWaiting = 300;
const maxWaitingBytes = 16 * 1024 * 1024;
/** Milliseconds without a new picture after which the last one is not shown any more. */
const staleAfter = 3000;
/** Milliseconds that a picture waits at most: a clock that says more is wrong. */
const maxWait = 3000;

type Waiting = EncodedPicture & { timestamp: number; arrival: number };

export class VideoTrack {
  readonly kind = 'video';
  readonly #options: VideoTrackOptions;
  readonly #buffer: JitterBuffer;
  readonly #timing: TrackTiming;
  readonly #decoder: VideoDecoder;
  readonly #shown = new Picture();
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  /** Nothing can be decoded before the next key picture. */
  #broken = true;
  #shownAt: number | undefined;
  #now = 0;

  /** @throws AvError where this FFmpeg cannot decode it */
  constructor(options: VideoTrackOptions) {
    this.#options = options;
    this.#decoder = new VideoDecoder(options.encoding);
    this.#timing = new TrackTiming(options.clockRate, options.delay);
    const assembler = new VideoAssembler({
      format: formats[options.encoding](),
      onPicture: (picture) => this.#hold(picture),
      onKeyNeeded: options.onKeyNeeded,
    });
    this.#buffer = new JitterBuffer({ wait: jitterWait.picture, out: (packet) => assembler.push(packet) });
  }

  get source(): string {
    return this.#options.source;
  }

  /** The newest picture; undefined where none came, or none for too long. */
  get picture(): Picture | undefined {
    return this.#shownAt === undefined ? undefined : this.#shown;
  }

  /** `now`: milliseconds since 1970, as all times here. */
  push(packet: RtpPacket, now: number): void {
    this.#now = now;
    this.#timing.arrived(this.#buffer.unwrapped(packet.timestamp), now);
    this.#buffer.push(packet, now);
  }

  reported(timestamp: number, time: number): void {
    this.#timing.reported(this.#buffer.unwrapped(timestamp), time);
  }

  drain(now: number): void {
    this.#now = now;
    this.#buffer.drain(now);
  }

  /** Decodes what is to be seen at `now`. One call at a time. @returns whether what is seen is another than before */
  async decodeUntil(now: number): Promise<boolean> {
    let changed = false;
    for (let next = this.#takeDue(now); next; next = this.#takeDue(now)) {
      if (await this.#decode(next)) {
        this.#shownAt = now;
        changed = true;
      }
    }
    if (this.#shownAt !== undefined && now - this.#shownAt > staleAfter) {
      this.#shownAt = undefined;
      changed = true;
    }
    return changed;
  }

  /** Not while it is drawn. Idempotent. */
  close(): void {
    this.#waiting = [];
    this.#decoder.close();
    this.#shown.close();
  }

  #hold(picture: Waiting): void {
    if (this.#waiting.length >= maxWaiting || this.#waitingBytes + picture.data.length > maxWaitingBytes) {
      this.#waiting = [];
      this.#waitingBytes = 0;
      this.#lost();
    }
    this.#waiting.push(picture);
    this.#waitingBytes += picture.data.length;
    this.#options.delay.pictureCame(this.#timing.dueAt(picture.timestamp) - this.#now, this.#now);
  }

  #takeDue(now: number): Waiting | undefined {
    const isDue = ({ timestamp, arrival }: Waiting) => this.#timing.dueAt(timestamp) <= now || now - arrival > maxWait;
    const due = this.#waiting.findIndex((picture) => !isDue(picture));
    const count = due < 0 ? this.#waiting.length : due;
    // Behind time, a key picture makes those before it needless.
    const start = this.#waiting.findLastIndex(({ key }, index) => key && index < count);
    for (const { data } of this.#waiting.splice(0, Math.max(0, start))) this.#waitingBytes -= data.length;
    const next = count > 0 ? this.#waiting.shift() : undefined;
    this.#waitingBytes -= next?.data.length ?? 0;
    return next;
  }

  async #decode({ data, key, timestamp }: Waiting): Promise<boolean> {
    if (this.#broken && !key) {
      this.#options.onKeyNeeded();
      return false;
    }
    this.#broken = false;
    try {
      return await this.#decoder.decode(this.#options.encoding === 'h264' ? startCodes(data) : data, timestamp, this.#shown);
    } catch (error) {
      if (!(error instanceof AvError)) throw error;
      this.#lost();
      return false;
    }
  }

  #lost(): void {
    this.#broken = true;
    this.#options.onKeyNeeded();
  }
}
