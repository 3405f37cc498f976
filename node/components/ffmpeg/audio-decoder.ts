// Audio decoder: Opus or G.722 to mono or stereo.
import { Codec, CodecContext, Frame, Packet, Rational } from 'node-av';
import type { FFDecoderCodec } from 'node-av/constants';
import { mono, stereo } from './audio-format.ts';
import { hasOutput, throwOnError } from './ffmpeg.ts';

/** libopus instead of FFmpeg's decoder, because it converts to any number of channels. Rates in samples per second. */
const codecs = { opus: { name: 'libopus', rate: 48_000 }, g722: { name: 'g722', rate: 16_000 } } as const;

export type AudioDecoderOptions = { codec: keyof typeof codecs; channels: 1 | 2 };

export class AudioDecoder {
  readonly #options: AudioDecoderOptions;
  readonly #context = new CodecContext();
  readonly #packet = new Packet();
  readonly #frame = new Frame();
  #closed = false;

  /** @throws AvError if this FFmpeg cannot decode it */
  constructor(options: AudioDecoderOptions) {
    this.#options = options;
    const { name, rate } = codecs[options.codec];
    const codec = Codec.findDecoderByName(name as FFDecoderCodec);
    this.#context.allocContext3(codec);
    this.#packet.alloc();
    this.#frame.alloc();
    this.#context.sampleRate = rate;
    this.#context.channelLayout = options.channels === 1 ? mono : stereo;
    this.#context.pktTimebase = new Rational(1, rate);
    try {
      // Without a dictionary, because node-av frees that of open2Sync twice.
      throwOnError(this.#context.open2Sync(codec), `Could not open the decoder for ${options.codec}`);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** @returns samples from -1 to 1, interleaved if stereo. @throws AvError for invalid data */
  decode(data: Buffer): Float32Array {
    this.#packet.unref();
    this.#packet.data = data;
    const sent = this.#context.sendPacketSync(this.#packet);
    let samples = new Float32Array();
    while (hasOutput(this.#context.receiveFrameSync(this.#frame), 'Could not decode audio')) samples = this.#joined(samples);
    throwOnError(sent, 'Could not decode audio');
    return samples;
  }

  /** Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#context.freeContext();
    this.#packet.free();
    this.#frame.free();
  }

  /** Both decoders output 16-bit samples. */
  #joined(before: Float32Array): Float32Array<ArrayBuffer> {
    const bytes = this.#frame.data?.[0];
    const count = bytes ? this.#frame.nbSamples * this.#options.channels : 0;
    const samples = new Float32Array(before.length + count);
    samples.set(before);
    for (let index = 0; bytes && index < count; index += 1) samples[before.length + index] = bytes.readInt16LE(index * 2) / 32_768;
    return samples;
  }
}
