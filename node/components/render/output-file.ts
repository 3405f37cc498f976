// Output file of a rendering: encodes frames and blocks of audio into one MP4.
import { AudioEncoder, aacSamples } from '../ffmpeg/audio-encoder.ts';
import type { EncodedPacket } from '../ffmpeg/encoded-packet.ts';
import { Mp4File, mp4Rates } from '../ffmpeg/mp4.ts';
import { VideoEncoder } from '../ffmpeg/video-encoder.ts';
import type { VideoFrame } from '../ffmpeg/video-frame.ts';

export type OutputFileOptions = {
  /** Absolute path. */
  path: string;
  width: number;
  height: number;
  framerate: number;
  /** Bit rates of a stream of this size, in bits per second. */
  bitrates: { video: number; audio: number };
};

/** CRF of x264: visually almost lossless. */
const quality = 21;
/** Maximum bit rate of video, relative to that of a stream. */
const maxBits = 3;
/** Seconds between two key frames, which are the seek points. */
const keyInterval = 2;

export class OutputFile {
  readonly #framerate: number;
  readonly #video: VideoEncoder;
  readonly #audio: AudioEncoder;
  readonly #file: Mp4File;

  private constructor(framerate: number, encoders: { video: VideoEncoder; audio: AudioEncoder }, file: Mp4File) {
    this.#framerate = framerate;
    this.#video = encoders.video;
    this.#audio = encoders.audio;
    this.#file = file;
  }

  /** @throws Error if the disk write fails, or the encoder rejects the size */
  static async open({ path, width, height, framerate, bitrates }: OutputFileOptions): Promise<OutputFile> {
    const bitrate = bitrates.video * maxBits;
    const video = await VideoEncoder.open({ width, height, framerate, bitrate, quality, keyInterval: keyInterval * framerate });
    const opened: { close(): void }[] = [video];
    try {
      const audio = new AudioEncoder({ bitrate: bitrates.audio });
      opened.push(audio);
      return new OutputFile(framerate, { video, audio }, await Mp4File.open(path, { video, audio }));
    } catch (error) {
      for (const each of opened) each.close();
      throw error;
    }
  }

  /** Encodes frame `number`. @returns packets to write; the frame must not change until then. Not reentrant. */
  encodeFrame(videoFrame: VideoFrame, number: number): Promise<EncodedPacket[]> {
    return this.#video.encode(videoFrame, { timestamp: number, key: number % (keyInterval * this.#framerate) === 0 });
  }

  /** Encodes a block of audio that begins with this sample. @returns packets to write */
  encodeAudio({ left, right }: { left: Float32Array; right: Float32Array }, sample: number): EncodedPacket[] {
    return this.#audio.encode(left, right, sample);
  }

  /** Not reentrant. @throws Error if the disk write fails */
  async write({
    videoPackets,
    audioPackets,
  }: {
    videoPackets: readonly EncodedPacket[];
    audioPackets: readonly EncodedPacket[];
  }): Promise<void> {
    for (const { data, key, timestamp } of videoPackets) {
      const [from, to] = [this.#ticks(timestamp), this.#ticks(timestamp + 1)];
      await this.#file.write({ track: 'video', data, key, timestamp: from, duration: to - from });
    }
    for (const { data, key, timestamp } of audioPackets) {
      await this.#file.write({ track: 'audio', data, key, timestamp, duration: aacSamples });
    }
  }

  /** Flushes the encoders and completes the file. */
  async finish(): Promise<void> {
    await this.write({ videoPackets: await this.#video.flush(), audioPackets: this.#audio.flush() });
    await this.#file.finish();
  }

  /** Idempotent. */
  close(): void {
    for (const each of [this.#file, this.#video, this.#audio]) each.close();
  }

  #ticks(number: number): number {
    return Math.round((number * mp4Rates.video) / this.#framerate);
  }
}
