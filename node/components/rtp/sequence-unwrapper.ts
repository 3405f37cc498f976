// Numbers that wrap around on the wire become numbers that go on.

/** Each number is taken for the one that is nearest to the last. */
export class SequenceUnwrapper {
  readonly #modulus: number;
  #last: number | undefined;

  constructor(bits: 16 | 32) {
    this.#modulus = 2 ** bits;
  }

  next(value: number): number {
    this.#last = this.near(value);
    return this.#last;
  }

  /** What next() would give, without moving on. */
  near(value: number): number {
    const last = this.#last;
    if (last === undefined) return value;
    const modulus = this.#modulus;
    const forward = (((value - last) % modulus) + modulus) % modulus;
    return last + (forward >= modulus / 2 ? forward - modulus : forward);
  }
}
