// Track recorder: orders packets of one track, writes its frames and computes times by the clock of the sender.

import { describeFrame, FrameAssembler } from '../rtp/frame-assembler.ts';
import { JitterBuffer } from '../rtp/jitter-buffer.ts';
import type { RtpPacket } from '../rtp/rtp-reader.ts';
import { TrackClock } from '../rtp/track-clock.ts';
import { opusTrack, type RecordedEncoding, videoFormat, videoTrack } from './codecs.ts';
import type { MatroskaTrack } from './matroska.ts';
import { Timeline } from './timeline.ts';
import { TrackFile } from './track-file.ts';

export type TrackRecorderOptions = {
  encoding: RecordedEncoding;
  clockRate: number;
  channels: number;
  path: string;
  onKeyNeeded: () => void;
  /** The first frame is written; `startTime` in milliseconds since 1970. */
  onStarted: (facts: { startTime: number; width?: number; height?: number }) => void;
  /** Writing the file failed. */
  onFailed: (error: unknown) => void;
};

/**
 * Times of the first and last frame by the clock of the sender, in milliseconds since 1970; undefined if no frame arrived. `startTime` may
 * differ from that of onStarted, which is called before the clock of the sender is known.
 */
export type TrackSummary = {
  startTime: number | undefined;
  endTime: number | undefined;
  duration: number | undefined;
  frames: number;
  lostPackets: number;
};

/** Maximum milliseconds to wait for a late packet. A recording has no latency limit, but a crash loses buffered packets. */
const jitterWait = 300;
/** Milliseconds in which sender reports still correct the start time: later reports include clock drift. */
const startKnown = 10_000;
/** Maximum milliseconds of difference to the local clock. Beyond it, the timestamps jump and the local clock is used. */
const maxDifference = 60_000;

type Frame = { timestamp: number; arrival: number; data: Buffer; key: boolean };

export class TrackRecorder {
  readonly #options: TrackRecorderOptions;
  readonly #buffer: JitterBuffer;
  readonly #clock: TrackClock;
  readonly #timeline: Timeline;
  #file: TrackFile | undefined;
  #first: { timestamp: number; arrival: number; time: number } | undefined;
  #lastTimestamp: number | undefined;
  #frames = 0;

  constructor(options: TrackRecorderOptions) {
    this.#options = options;
    const { encoding, clockRate } = options;
    this.#clock = new TrackClock({ clockRate });
    this.#timeline = new Timeline(clockRate);
    if (encoding === 'opus') {
      this.#buffer = new JitterBuffer({
        wait: jitterWait,
        out: ({ timestamp, arrival, payload }) => {
          if (payload.length > 0) this.#add({ timestamp, arrival, data: payload, key: true }, () => opusTrack(payload, options.channels));
        },
      });
      return;
    }
    const format = videoFormat(encoding);
    const assembler = new FrameAssembler({
      format,
      onFrame: (frame) =>
        this.#add(frame, () => {
          const description = describeFrame(format, frame);
          return description && videoTrack(encoding, description);
        }),
      onKeyNeeded: options.onKeyNeeded,
    });
    this.#buffer = new JitterBuffer({ wait: jitterWait, out: (packet) => assembler.push(packet) });
  }

  /** `now` from performance.now(), `time` in milliseconds since 1970. */
  push(packet: RtpPacket, now: number, time: number): void {
    this.#buffer.push(packet, now);
    this.#clock.arrived(this.#buffer.unwrapped(packet.timestamp), time);
  }

  /** From an RTCP sender report; `time` in milliseconds since 1970. */
  reported(timestamp: number, time: number, now: number): void {
    this.#clock.reported(this.#buffer.unwrapped(timestamp), time);
    if (this.#first && now - this.#first.arrival < startKnown) this.#first.time = this.#timeOf(this.#first.timestamp, this.#first.time);
  }

  tick(now: number): void {
    this.#buffer.drain(now);
    this.#file?.tick(now);
  }

  async close(): Promise<TrackSummary> {
    this.#buffer.flush();
    const duration = await this.#file?.close();
    const endTime = this.#lastTimestamp === undefined ? undefined : this.#timeOf(this.#lastTimestamp, Date.now());
    return { startTime: this.#first?.time, endTime, duration, frames: this.#frames, lostPackets: this.#buffer.lost };
  }

  /** By the clock of the sender; `ours` if that is implausible. */
  #timeOf(timestamp: number, ours: number): number {
    const time = this.#clock.timeOf(timestamp);
    return time !== undefined && Math.abs(time - ours) <= maxDifference ? time : ours;
  }

  #add({ timestamp, arrival, data, key }: Frame, describe: () => MatroskaTrack | undefined): void {
    if (!this.#file) {
      const track = describe();
      if (!track) {
        this.#options.onKeyNeeded();
        return;
      }
      const startTime = this.#timeOf(timestamp, Date.now());
      this.#first = { timestamp, arrival, time: startTime };
      this.#file = new TrackFile({ path: this.#options.path, onFailed: this.#options.onFailed }, track, startTime);
      const size = track.kind === 'video' ? { width: track.width, height: track.height } : {};
      this.#options.onStarted({ startTime, ...size });
    }
    this.#frames += 1;
    this.#lastTimestamp = timestamp;
    this.#file.add({ time: this.#timeline.place(timestamp, arrival), data, key }, arrival);
  }
}
