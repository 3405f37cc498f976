// Mutation fuzzer: mutated bytes from a fixed seed, the same in every run.
import { seededRandom } from './seeded-random.ts';

export class ByteFuzzer {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  /** An integer from 0 up to, but not including, the limit. */
  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  /** One sample with one to four mutations: bits, bytes, lengths, truncation, duplication or noise. */
  mutate(samples: readonly Buffer[]): Buffer {
    let bytes: Buffer = Buffer.from(samples[this.below(samples.length)] ?? Buffer.alloc(1));
    for (let changes = 1 + this.below(4); changes > 0; changes -= 1) bytes = this.#change(bytes);
    return bytes;
  }

  #change(bytes: Buffer): Buffer {
    if (bytes.length === 0) return Buffer.of(this.below(256));
    const at = this.below(bytes.length);
    switch (this.below(8)) {
      case 0:
      case 1:
        bytes[at] = (bytes[at] ?? 0) ^ (1 << this.below(8));
        return bytes;
      case 2:
      case 3:
        bytes[at] = this.below(256);
        return bytes;
      case 4:
        return bytes.subarray(0, at);
      case 5:
        return Buffer.concat([bytes.subarray(0, at), Buffer.alloc(4, this.below(2) * 255), bytes.subarray(at)]);
      case 6:
        return Buffer.concat([bytes.subarray(0, at), bytes.subarray(this.below(at + 1))]);
      default:
        if (at + 4 <= bytes.length) bytes.writeUInt32BE(this.below(0x1_0000_0000), at);
        return bytes;
    }
  }
}
