// Decodes Opus to stereo at 48 kHz.
import { Codec, CodecContext, Frame, Packet, Rational } from 'node-av';
import type { FFDecoderCodec } from 'node-av/constants';
import { came, check } from './ffmpeg.ts';
import { stereo } from './sound.ts';

export class AudioDecoder {
  readonly #context = new CodecContext();
  readonly #packet = new Packet();
  readonly #frame = new Frame();
  #closed = false;

  /** @throws AvError where this FFmpeg cannot decode it */
  constructor() {
    const codec = Codec.findDecoderByName('libopus' as FFDecoderCodec);
    this.#context.allocContext3(codec);
    this.#packet.alloc();
    this.#frame.alloc();
    this.#context.sampleRate = 48_000;
    this.#context.channelLayout = stereo;
    this.#context.pktTimebase = new Rational(1, 48_000);
    try {
      check(this.#context.open2Sync(codec), 'Opus cannot be decoded');
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** @returns samples from -1 to 1, left and right in turn. @throws AvError for what is no Opus */
  decode(data: Buffer): Float32Array {
    this.#packet.unref();
    this.#packet.data = data;
    const sent = this.#context.sendPacketSync(this.#packet);
    const blocks: Float32Array[] = [];
    while (came(this.#context.receiveFrameSync(this.#frame), 'Sound cannot be decoded')) blocks.push(samplesOf(this.#frame));
    check(sent, 'Sound cannot be decoded');
    return blocks.length === 1 && blocks[0] ? blocks[0] : Float32Array.from(blocks.flatMap((block) => [...block]));
  }

  /** Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#context.freeContext();
    this.#packet.free();
    this.#frame.free();
  }
}

/** 16-bit samples, left and right in turn, are what libopus gives. */
function samplesOf(frame: Frame): Float32Array {
  const bytes = frame.data?.[0];
  const samples = new Float32Array(bytes ? frame.nbSamples * 2 : 0);
  for (let index = 0; bytes && index < samples.length; index += 1) samples[index] = bytes.readInt16LE(index * 2) / 32_768;
  return samples;
}
