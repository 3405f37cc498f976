// AAC encoder: stereo at 48 kHz.
import { Codec, CodecContext, Frame, Packet, Rational } from 'node-av';
import { AV_CODEC_FLAG_GLOBAL_HEADER, AV_SAMPLE_FMT_FLTP, type FFEncoderCodec } from 'node-av/constants';
import { sampleRate, stereo } from './audio-format.ts';
import { drainEncoder, type EncodedPacket } from './encoded-packet.ts';
import { throwOnError } from './ffmpeg.ts';

/** Samples of one packet. */
export const aacSamples = 1024;

export class AudioEncoder {
  readonly #context = new CodecContext();
  readonly #frame = new Frame();
  readonly #packet = new Packet();
  #closed = false;

  /** `bitrate`: bits per second. @throws AvError */
  constructor({ bitrate }: { bitrate: number }) {
    const codec = Codec.findEncoderByName('aac' as FFEncoderCodec);
    this.#context.allocContext3(codec);
    this.#packet.alloc();
    this.#frame.alloc();
    Object.assign(this.#context, {
      sampleRate,
      sampleFormat: AV_SAMPLE_FMT_FLTP,
      channelLayout: stereo,
      bitRate: BigInt(bitrate),
      timeBase: new Rational(1, sampleRate),
    });
    this.#context.setFlags(AV_CODEC_FLAG_GLOBAL_HEADER);
    Object.assign(this.#frame, { format: AV_SAMPLE_FMT_FLTP, sampleRate, channelLayout: stereo, nbSamples: aacSamples });
    try {
      throwOnError(this.#context.open2Sync(codec), 'Could not open the AAC encoder');
      throwOnError(this.#frame.getBuffer(0), 'Could not allocate an audio frame');
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** AAC-LC as in RFC 6381 (section 3.3). */
  readonly codec = 'mp4a.40.2';

  /** For this folder only. */
  get context(): CodecContext {
    return this.#context;
  }

  /**
   * Encodes `aacSamples` of each channel; `timestamp` counts samples. The output is delayed: its timestamps are those of the first sample
   * that a decoder outputs for it, one packet before the input. So the first packet has a negative timestamp.
   */
  encode(left: Float32Array, right: Float32Array, timestamp: number): EncodedPacket[] {
    throwOnError(this.#frame.makeWritable(), 'Could not write to the audio frame');
    for (const [channel, samples] of [left, right].entries()) {
      const plane = this.#frame.data?.[channel];
      plane?.set(new Uint8Array(samples.buffer, samples.byteOffset, aacSamples * 4));
    }
    this.#frame.pts = BigInt(timestamp);
    throwOnError(this.#context.sendFrameSync(this.#frame), 'Could not encode audio');
    return drainEncoder(this.#context, this.#packet);
  }

  /** The remaining packets at the end. */
  flush(): EncodedPacket[] {
    this.#context.sendFrameSync(null);
    return drainEncoder(this.#context, this.#packet);
  }

  /** Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#context.freeContext();
    this.#frame.free();
    this.#packet.free();
  }
}
