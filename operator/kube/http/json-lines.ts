// Parser of newline-delimited JSON with a limit of the line length.

export class JsonLines {
  readonly #longest: number;
  #parts: Buffer[] = [];
  #held = 0;

  /** `longest`: maximum bytes of a line. */
  constructor(longest: number) {
    this.#longest = longest;
  }

  /** Values of the lines completed by this chunk. @throws SyntaxError for invalid JSON, RangeError for a line that is too long */
  *take(chunk: Buffer): Generator<unknown> {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.#hold(chunk.subarray(start, end));
      const text = Buffer.concat(this.#parts).toString();
      this.#parts = [];
      this.#held = 0;
      start = end + 1;
      if (text.trim() !== '') yield JSON.parse(text);
    }
    this.#hold(chunk.subarray(start));
  }

  #hold(part: Buffer): void {
    this.#held += part.length;
    if (this.#held > this.#longest) throw new RangeError(`A line is longer than ${this.#longest} bytes`);
    if (part.length > 0) this.#parts.push(part);
  }
}
