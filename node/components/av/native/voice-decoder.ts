// Decodes one voice: Opus or G.722, to one channel.
import { Codec, CodecContext, Frame, Packet, Rational } from 'node-av';
import type { FFDecoderCodec } from 'node-av/constants';
import { came, check } from './ffmpeg.ts';
import { mono } from './sound.ts';

export type VoiceCodec = keyof typeof voiceRates;
/** Samples per second. */
export const voiceRates = { opus: 48_000, g722: 16_000 } as const;

/** Of libopus, not FFmpeg's own decoder: it mixes both channels of a stereo voice to one. */
const names = { opus: 'libopus', g722: 'g722' } as const satisfies Record<VoiceCodec, string>;

export class VoiceDecoder {
  readonly #context = new CodecContext();
  readonly #packet = new Packet();
  readonly #frame = new Frame();
  #closed = false;

  /** @throws AvError where this FFmpeg cannot decode it */
  constructor(voice: VoiceCodec) {
    const codec = Codec.findDecoderByName(names[voice] as FFDecoderCodec);
    this.#context.allocContext3(codec);
    this.#packet.alloc();
    this.#frame.alloc();
    this.#context.sampleRate = voiceRates[voice];
    this.#context.channelLayout = mono;
    this.#context.pktTimebase = new Rational(1, voiceRates[voice]);
    try {
      // Without a dictionary: node-av frees that of open2Sync twice.
      check(this.#context.open2Sync(codec), `${voice} cannot be decoded`);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** @returns samples from -1 to 1. @throws AvError for what cannot be decoded */
  decode(data: Buffer): Float32Array {
    this.#packet.unref();
    this.#packet.data = data;
    const sent = this.#context.sendPacketSync(this.#packet);
    let samples = new Float32Array();
    while (came(this.#context.receiveFrameSync(this.#frame), 'A voice cannot be decoded')) samples = joined(samples, this.#frame);
    check(sent, 'A voice cannot be decoded');
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
}

/** Both decoders give 16 bits. */
function joined(before: Float32Array, frame: Frame): Float32Array<ArrayBuffer> {
  const bytes = frame.data?.[0];
  const count = bytes ? frame.nbSamples : 0;
  const samples = new Float32Array(before.length + count);
  samples.set(before);
  for (let index = 0; bytes && index < count; index += 1) samples[before.length + index] = bytes.readInt16LE(index * 2) / 32_768;
  return samples;
}
