// Voice encoder: Opus or G.722 in frames of 20 ms, and Opus of a mix.
import { Codec, CodecContext, Frame, Packet, Rational } from 'node-av';
import {
  AV_OPT_SEARCH_CHILDREN,
  AV_OPT_TYPE_BOOL,
  AV_OPT_TYPE_INT,
  AV_SAMPLE_FMT_FLT,
  AV_SAMPLE_FMT_S16,
  type FFEncoderCodec,
} from 'node-av/constants';
import { mono, stereo } from './audio-format.ts';
import { drainEncoder } from './encoded-packet.ts';
import { throwOnError } from './ffmpeg.ts';

/**
 * `opus-near` is for paths without loss: fast, with minimum delay. `opus-far` adds forward error correction (RFC 6716, section 2.1.7).
 * `opus-mix` is stereo for any content. The input of Opus has 48,000 samples per second, that of G.722 16,000.
 */
export type VoiceEncoding = 'opus-near' | 'opus-far' | 'opus-mix' | 'g722';
export type VoiceEncoderOptions = {
  encoding: VoiceEncoding;
  /** Audio bandwidth in hertz. */
  bandwidth?: number;
};

const opusRate = 48_000;
/** OPUS_APPLICATION_VOIP, _AUDIO and _RESTRICTED_LOWDELAY of libopus. */
const applications = { 'opus-far': 2048, 'opus-mix': 2049, 'opus-near': 2051 } as const;
/** Expected loss of `opus-far` in percent. */
const expectedLoss = 5;
/** From 0 to 10: higher values hardly improve speech. */
const complexity = 5;

const encodings = {
  'opus-near': { name: 'libopus', rate: opusRate, format: AV_SAMPLE_FMT_FLT, bitrate: 32_000, layout: mono },
  'opus-far': { name: 'libopus', rate: opusRate, format: AV_SAMPLE_FMT_FLT, bitrate: 32_000, layout: mono },
  'opus-mix': { name: 'libopus', rate: opusRate, format: AV_SAMPLE_FMT_FLT, bitrate: 128_000, layout: stereo },
  g722: { name: 'g722', rate: 16_000, format: AV_SAMPLE_FMT_S16, bitrate: 64_000, layout: mono },
} as const;

export class VoiceEncoder {
  readonly #context = new CodecContext();
  readonly #packet = new Packet();
  readonly #frame = new Frame();
  /** Per channel. */
  readonly #samples: number;
  readonly #channels: number;
  #timestamp = 0;
  #closed = false;

  /** @throws AvError if this FFmpeg cannot encode it */
  constructor({ encoding, bandwidth }: VoiceEncoderOptions) {
    const { name, rate, format, bitrate, layout: channelLayout } = encodings[encoding];
    this.#samples = rate / 50;
    this.#channels = channelLayout.nbChannels;
    const codec = Codec.findEncoderByName(name as FFEncoderCodec);
    this.#context.allocContext3(codec);
    this.#packet.alloc();
    this.#frame.alloc();
    const layout = { sampleRate: rate, channelLayout };
    Object.assign(this.#context, { ...layout, sampleFormat: format, bitRate: BigInt(bitrate), timeBase: new Rational(1, rate) });
    Object.assign(this.#frame, { ...layout, format, nbSamples: this.#samples });
    try {
      if (encoding !== 'g722') this.#tuneOpus(encoding, bandwidth);
      // Without a dictionary, because node-av frees that of open2Sync twice.
      throwOnError(this.#context.open2Sync(codec), `Could not open the encoder for ${encoding}`);
      throwOnError(this.#frame.getBuffer(0), 'Could not allocate an audio frame');
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Encodes 20 ms of samples from -1 to 1, interleaved if there are two channels. @returns the packet */
  encode(samples: Float32Array): Buffer {
    if (samples.length !== this.#samples * this.#channels) throw new RangeError(`${samples.length} samples are not a frame of 20 ms`);
    throwOnError(this.#frame.makeWritable(), 'Could not write to the audio frame');
    const plane = this.#frame.data?.[0];
    if (!plane) throw new Error('The audio frame has no buffer');
    if (this.#frame.format === AV_SAMPLE_FMT_FLT) plane.set(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength));
    else
      for (const [index, sample] of samples.entries())
        plane.writeInt16LE(Math.round(Math.max(-1, Math.min(1, sample)) * 32_767), index * 2);
    this.#frame.pts = BigInt(this.#timestamp);
    this.#timestamp += this.#samples;
    throwOnError(this.#context.sendFrameSync(this.#frame), 'Could not encode audio');
    const [packet] = drainEncoder(this.#context, this.#packet);
    return packet?.data ?? Buffer.alloc(0);
  }

  /** Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#context.freeContext();
    this.#frame.free();
    this.#packet.free();
  }

  #tuneOpus(encoding: keyof typeof applications, bandwidth: number | undefined): void {
    this.#setNumber('application', applications[encoding]);
    this.#setNumber('compression_level', complexity);
    if (encoding === 'opus-far') {
      this.#setNumber('packet_loss', expectedLoss);
      throwOnError(this.#context.setOption('fec', true, AV_OPT_TYPE_BOOL, AV_OPT_SEARCH_CHILDREN), 'Could not set an Opus option');
    }
    if (bandwidth !== undefined) this.#setNumber('cutoff', bandwidth);
  }

  #setNumber(name: string, value: number): void {
    throwOnError(this.#context.setOption(name, value, AV_OPT_TYPE_INT, AV_OPT_SEARCH_CHILDREN), 'Could not set an Opus option');
  }
}
