// Records one track: its packets in order, its frames in its file, its times by the clock of its sender.

import { describePicture, FrameAssembler } from '../rtp/frame-assembler.ts';
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
  /** Its first frame is in the file; `startTime` in milliseconds since 1970. */
  onStarted: (facts: { startTime: number; width?: number; height?: number }) => void;
  /** Its file cannot be written. */
  onFailed: (error: unknown) => void;
};

/**
 * Of its first and last frame, by the sender's clock, in milliseconds since 1970; undefined where nothing came. `startTime` may differ
 * from that of onStarted, which is told before the sender's clock is known.
 */
export type TrackSummary = {
  startTime: number | undefined;
  endTime: number | undefined;
  duration: number | undefined;
  frames: number;
  lostPackets: number;
};

/** Milliseconds that a packet may be late: nobody waits for a recording, but a crash costs what is held. */
const jitterWait = 300;
/** Milliseconds in which reports still say when the first frame was: later ones have the drift of the sender's clock in them. */
const startKnown = 10_000;
/** Milliseconds by which a sender's clock may differ from ours: beyond, its timestamps jump about, and ours is taken. */
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
      onPicture: (picture) =>
        this.#add(picture, () => {
          const description = describePicture(format, picture);
          return description && videoTrack(encoding, description);
        }),
      onKeyNeeded: options.onKeyNeeded,
    });
    this.#buffer = new JitterBuffer({ wait: jitterWait, out: (packet) => assembler.push(packet) });
  }

  /** `now` as of performance.now(), `time` in milliseconds since 1970. */
  push(packet: RtpPacket, now: number, time: number): void {
    this.#buffer.push(packet, now);
    this.#clock.arrived(this.#buffer.unwrapped(packet.timestamp), time);
  }

  /** From a sender report; `time` in milliseconds since 1970. */
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

  /** By the sender's clock; `ours` where that makes no sense. */
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
