// Bit reader, most significant bit first, for video headers.

export class BitReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Up to 32 bits. @throws RangeError after the end */
  read(count: number): number {
    let value = 0;
    for (let index = 0; index < count; index += 1) value = value * 2 + this.#bit();
    return value;
  }

  skip(count: number): void {
    this.#at += count;
  }

  /** ue(v) of H.264, section 9.1. */
  unsigned(): number {
    let zeros = 0;
    while (this.#bit() === 0) {
      zeros += 1;
      if (zeros > 31) throw new RangeError('An Exp-Golomb code is too long');
    }
    return 2 ** zeros - 1 + this.read(zeros);
  }

  /** se(v) of H.264, section 9.1.1. */
  signed(): number {
    const code = this.unsigned();
    return code % 2 === 0 ? -code / 2 : (code + 1) / 2;
  }

  #bit(): number {
    const byte = this.#bytes[this.#at >> 3];
    if (byte === undefined) throw new RangeError('Unexpected end of the bits');
    const bit = (byte >> (7 - (this.#at & 7))) & 1;
    this.#at += 1;
    return bit;
  }
}
