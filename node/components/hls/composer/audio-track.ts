// Audio track of a stream: orders and decodes packets, and places samples by the clock of the sender.

import { MixerInput } from '../../compose/mixer-input.ts';
import { AudioDecoder } from '../../ffmpeg/audio-decoder.ts';
import { AvError } from '../../ffmpeg/ffmpeg.ts';
import { JitterBuffer, type OrderedPacket } from '../../rtp/jitter-buffer.ts';
import type { RtpPacket } from '../../rtp/rtp-reader.ts';
import { jitterBufferDelay, type PlayoutDelay, TrackTiming } from '../playout.ts';

export type AudioTrackOptions = {
  source: string;
  clockRate: number;
  delay: PlayoutDelay;
  /** Number of the sample that is played at `time` (milliseconds since 1970). */
  sampleAt: (time: number) => number;
  /** First sample to read. */
  from: number;
};

const samplesPerMillisecond = 48;

export class AudioTrack {
  readonly kind = 'audio';
  readonly #options: AudioTrackOptions;
  readonly #buffer: JitterBuffer;
  readonly #timing: TrackTiming;
  readonly #decoder = new AudioDecoder({ codec: 'opus', channels: 2 });
  readonly #line: MixerInput;
  #now = 0;

  constructor(options: AudioTrackOptions) {
    this.#options = options;
    this.#timing = new TrackTiming(options.clockRate, options.delay);
    this.#line = new MixerInput(options.from);
    this.#buffer = new JitterBuffer({ wait: jitterBufferDelay.audio, out: (packet) => this.#decode(packet) });
  }

  get source(): string {
    return this.#options.source;
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

  /** Adds its samples from `from` on. @returns their loudness, from 0 to 1 */
  mixInto(from: number, left: Float32Array, right: Float32Array): number {
    return this.#line.read(from, left, right);
  }

  /** Idempotent. */
  close(): void {
    this.#decoder.close();
  }

  #decode({ payload, timestamp }: OrderedPacket): void {
    if (payload.length === 0) return;
    try {
      const samples = this.#decoder.decode(payload);
      const at = Math.round(this.#options.sampleAt(this.#timing.dueAt(timestamp)));
      const margin = this.#line.write(at, samples);
      this.#options.delay.came(margin / samplesPerMillisecond, this.#now);
    } catch (error) {
      // Samples that cannot be decoded become silence.
      if (!(error instanceof AvError)) throw error;
    }
  }
}
