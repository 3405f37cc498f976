// Resampler: changes the sampling rate of mono audio, block by block.
import { SoftwareResampleContext } from 'node-av';
import { AV_SAMPLE_FMT_FLT } from 'node-av/constants';
import { mono } from './audio-format.ts';
import { AvError, throwOnError } from './ffmpeg.ts';

/** Samples per second; one rate must be a multiple of the other. */
export type ResamplerOptions = { from: number; to: number };

const sampleBytes = 4;
/** Maximum of additional output samples that the filter had delayed. */
const spare = 256;

export class Resampler {
  readonly #context = new SoftwareResampleContext();
  readonly #ratio: number;
  #out = Buffer.alloc(0);
  #closed = false;

  /** The output is delayed by 2 ms at 8 kHz, by 1 ms at 16 kHz. @throws AvError */
  constructor({ from, to }: ResamplerOptions) {
    this.#ratio = to / from;
    try {
      throwOnError(this.#context.allocSetOpts2(mono, AV_SAMPLE_FMT_FLT, to, mono, AV_SAMPLE_FMT_FLT, from), 'Could not create a resampler');
      throwOnError(this.#context.init(), 'Could not create a resampler');
      // Primes the filter with silence, so that each block produces a complete output block.
      this.convert(new Float32Array(from / 50));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** `samples` must be a whole number of samples of the lower rate. @returns the same duration at the other rate */
  convert(samples: Float32Array): Float32Array {
    const input = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
    const most = Math.ceil(samples.length * this.#ratio) + spare;
    if (this.#out.length < most * sampleBytes) this.#out = Buffer.alloc(most * sampleBytes);
    const count = this.#context.convertSync([this.#out], most, [input], samples.length);
    if (count < 0) throw new AvError('Could not resample audio', count);
    return new Float32Array(this.#out.buffer, this.#out.byteOffset, count).slice();
  }

  /** Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#context.free();
  }
}
