// Codecs of calls, from and to blocks of audio at 48 kHz.

import { AudioDecoder } from '../../ffmpeg/audio-decoder.ts';
import { Resampler } from '../../ffmpeg/resampler.ts';
import { VoiceEncoder } from '../../ffmpeg/voice-encoder.ts';
import { sampleRate } from './audio-format.ts';
import { decodeG711, encodeG711 } from './g711.ts';
import type { CallCodec } from './session.ts';

/** `clockRate` of RTP; that of G.722 is half of its sampling rate (RFC 3551, section 4.5.2). `bandwidth`: audio bandwidth in hertz. */
export const callCodecFacts = {
  opus: { clockRate: 48_000, sampleRate: 48_000, bandwidth: 20_000 },
  G722: { clockRate: 8000, sampleRate: 16_000, bandwidth: 8000 },
  PCMA: { clockRate: 8000, sampleRate: 8000, bandwidth: 4000 },
  PCMU: { clockRate: 8000, sampleRate: 8000, bandwidth: 4000 },
} as const satisfies Record<CallCodec, { clockRate: number; sampleRate: number; bandwidth: number }>;

export class CallDecoder {
  readonly #decode: (payload: Buffer) => Float32Array;
  readonly #native: AudioDecoder | undefined;
  readonly #resampler: Resampler | undefined;

  /** @throws AvError if this FFmpeg has no such codec */
  constructor(codec: CallCodec) {
    const native =
      codec === 'opus' || codec === 'G722' ? new AudioDecoder({ codec: codec === 'opus' ? 'opus' : 'g722', channels: 1 }) : undefined;
    this.#native = native;
    this.#decode = native ? (payload) => native.decode(payload) : (payload) => decodeG711(codec === 'PCMA' ? 'PCMA' : 'PCMU', payload);
    const from = callCodecFacts[codec].sampleRate;
    this.#resampler = from === sampleRate ? undefined : new Resampler({ from, to: sampleRate });
  }

  /** @returns samples at 48 kHz. @throws AvError for invalid data */
  decode(payload: Buffer): Float32Array {
    const samples = this.#decode(payload);
    return this.#resampler?.convert(samples) ?? samples;
  }

  /** Idempotent. */
  close(): void {
    this.#native?.close();
    this.#resampler?.close();
  }
}

export class CallEncoder {
  readonly #encode: (samples: Float32Array) => Buffer;
  readonly #native: VoiceEncoder | undefined;
  readonly #resampler: Resampler | undefined;

  /** @throws AvError if this FFmpeg has no such codec */
  constructor(codec: CallCodec) {
    const native =
      codec === 'opus' || codec === 'G722' ? new VoiceEncoder({ encoding: codec === 'opus' ? 'opus-far' : 'g722' }) : undefined;
    this.#native = native;
    this.#encode = native ? (samples) => native.encode(samples) : (samples) => encodeG711(codec === 'PCMA' ? 'PCMA' : 'PCMU', samples);
    const to = callCodecFacts[codec].sampleRate;
    this.#resampler = to === sampleRate ? undefined : new Resampler({ from: sampleRate, to });
  }

  /** Encodes one block. */
  encode(block: Float32Array): Buffer {
    return this.#encode(this.#resampler?.convert(block) ?? block);
  }

  /** Idempotent. */
  close(): void {
    this.#native?.close();
    this.#resampler?.close();
  }
}
