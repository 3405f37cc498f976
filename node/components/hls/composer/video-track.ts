// Video track of a stream: orders packets, assembles frames and decodes them at their playout time.
import { AvError } from '../../ffmpeg/ffmpeg.ts';
import { VideoDecoder } from '../../ffmpeg/video-decoder.ts';
import { VideoFrame } from '../../ffmpeg/video-frame.ts';
import { Av1Depacketizer } from '../../rtp/av1.ts';
import {
  type EncodedFrame as CodedFrame,
  describeFrame,
  FrameAssembler,
  type RtpDepacketizer,
  type VideoDescription,
} from '../../rtp/frame-assembler.ts';
import { H264Depacketizer, toAnnexB } from '../../rtp/h264.ts';
import { JitterBuffer } from '../../rtp/jitter-buffer.ts';
import type { RtpPacket } from '../../rtp/rtp-reader.ts';
import { Vp8Depacketizer } from '../../rtp/vp8.ts';
import { Vp9Depacketizer } from '../../rtp/vp9.ts';
import { jitterBufferDelay, type PlayoutDelay, TrackTiming } from '../playout.ts';
import type { ComposedEncoding } from './composer-messages.ts';

export type VideoTrackOptions = {
  source: string;
  encoding: Exclude<ComposedEncoding, 'opus'>;
  clockRate: number;
  delay: PlayoutDelay;
  onKeyNeeded: () => void;
  /** True if frames of this size may be decoded; called for each key frame. */
  mayDecode: (size: VideoDescription) => boolean;
};

const formats = {
  vp8: () => new Vp8Depacketizer(),
  vp9: () => new Vp9Depacketizer(),
  h264: () => new H264Depacketizer(),
  av1: () => new Av1Depacketizer(),
} as const satisfies Record<VideoTrackOptions['encoding'], () => RtpDepacketizer>;

/** Maximum of waiting frames, and of their bytes. */
const maxWaiting = 300;
const maxWaitingBytes = 4 * 1024 * 1024;
/** Milliseconds without a new frame after which the last one is hidden. */
const staleAfter = 3000;
/** Maximum milliseconds that a frame waits; a longer wait means a wrong clock. */
const maxWait = 3000;

type Waiting = CodedFrame & { timestamp: number; arrival: number; size: VideoDescription | undefined };

export class VideoTrack {
  readonly kind = 'video';
  readonly #options: VideoTrackOptions;
  readonly #buffer: JitterBuffer;
  readonly #timing: TrackTiming;
  #decoder: VideoDecoder;
  #shown = new VideoFrame();
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  /** No frame can be decoded before the next key frame. */
  #broken = true;
  /** Its frames are too large at the moment: `full` until its memory is freed. */
  #refused: 'full' | 'empty' | undefined;
  #shownAt: number | undefined;
  #now = 0;

  /** @throws AvError if this FFmpeg cannot decode it */
  constructor(options: VideoTrackOptions) {
    this.#options = options;
    this.#decoder = new VideoDecoder(options.encoding);
    this.#timing = new TrackTiming(options.clockRate, options.delay);
    const format = formats[options.encoding]();
    const assembler = new FrameAssembler({
      format,
      onFrame: (frame) => this.#hold({ ...frame, size: frame.key ? describeFrame(format, frame) : undefined }),
      onKeyNeeded: options.onKeyNeeded,
    });
    this.#buffer = new JitterBuffer({ wait: jitterBufferDelay.frame, out: (packet) => assembler.push(packet) });
  }

  get source(): string {
    return this.#options.source;
  }

  /** The newest frame; undefined if none arrived, or none recently. */
  get frame(): VideoFrame | undefined {
    return this.#shownAt === undefined ? undefined : this.#shown;
  }

  /** `now`: milliseconds since 1970, like all times here. */
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

  /** Decodes frames that are due at `now`. Not reentrant. @returns true if the shown frame changed */
  async decodeUntil(now: number): Promise<boolean> {
    let changed = this.#refused === 'full';
    if (changed) this.#empty();
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

  /** Not while its frame is drawn. Idempotent. */
  close(): void {
    this.#waiting = [];
    this.#decoder.close();
    this.#shown.close();
  }

  #hold(frame: Waiting): void {
    if (this.#waiting.length >= maxWaiting || this.#waitingBytes + frame.data.length > maxWaitingBytes) {
      this.#waiting = [];
      this.#waitingBytes = 0;
      this.#lost();
    }
    this.#waiting.push(frame);
    this.#waitingBytes += frame.data.length;
    this.#options.delay.frameCame(this.#timing.dueAt(frame.timestamp) - this.#now, this.#now);
  }

  #takeDue(now: number): Waiting | undefined {
    const isDue = ({ timestamp, arrival }: Waiting) => this.#timing.dueAt(timestamp) <= now || now - arrival > maxWait;
    const due = this.#waiting.findIndex((frame) => !isDue(frame));
    const count = due < 0 ? this.#waiting.length : due;
    // If decoding is late, a key frame makes the frames before it unnecessary.
    const start = this.#waiting.findLastIndex(({ key }, index) => key && index < count);
    for (const { data } of this.#waiting.splice(0, Math.max(0, start))) this.#waitingBytes -= data.length;
    const next = count > 0 ? this.#waiting.shift() : undefined;
    this.#waitingBytes -= next?.data.length ?? 0;
    return next;
  }

  /** Hides the track until its next key frame that may be decoded. */
  refuse(): void {
    this.#refused ??= 'full';
    this.#broken = true;
    this.#shownAt = undefined;
  }

  #empty(): void {
    this.#refused = 'empty';
    this.#decoder.close();
    this.#shown.close();
    this.#shown = new VideoFrame();
  }

  /** A key frame without a size is not admitted. */
  #admit(size: VideoDescription | undefined): boolean {
    if (!size || !this.#options.mayDecode(size)) return false;
    if (this.#refused === 'empty') this.#decoder = new VideoDecoder(this.#options.encoding);
    this.#refused = undefined;
    this.#decoder.limit(size);
    return true;
  }

  async #decode({ data, key, timestamp, size }: Waiting): Promise<boolean> {
    if (key ? !this.#admit(size) : this.#refused) return false;
    if (this.#broken && !key) {
      this.#options.onKeyNeeded();
      return false;
    }
    this.#broken = false;
    try {
      const some = await this.#decoder.decode(this.#options.encoding === 'h264' ? toAnnexB(data) : data, timestamp, this.#shown);
      // Another track may have claimed its pixels meanwhile.
      return some && !this.#refused;
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
