// Sequence unwrapper: extends wrapping numbers to increasing ones.

/** Each number is the one closest to the last. */
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

  /** Result of next(), without changing the state. */
  near(value: number): number {
    const last = this.#last;
    if (last === undefined) return value;
    const modulus = this.#modulus;
    const forward = (((value - last) % modulus) + modulus) % modulus;
    return last + (forward >= modulus / 2 ? forward - modulus : forward);
  }
}
