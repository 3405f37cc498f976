// Cuts a stream of bytes into packets that say their length first.
import { WireError } from './wire-error.ts';

/** Holds only what has come: a length that is claimed makes no memory. */
export class PacketReader {
  #lengthBytes: 2 | 4;
  #maxLength: number;
  #chunks: Buffer[] = [];
  #held = 0;

  /** `maxLength`: bytes of one packet, without its length. */
  constructor(lengthBytes: 2 | 4, maxLength: number) {
    this.#lengthBytes = lengthBytes;
    this.#maxLength = maxLength;
  }

  /** Bytes that wait for the rest of their packet. */
  get held(): number {
    return this.#held;
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#held += chunk.length;
  }

  /** The next whole packet without its length. @throws WireError where it would be too long. */
  next(): Buffer | undefined {
    if (this.#held < this.#lengthBytes) return undefined;
    const length = this.#peekLength();
    if (length > this.#maxLength) throw new WireError(`a packet of ${length} bytes is too long`);
    const size = this.#lengthBytes + length;
    if (this.#held < size) return undefined;
    const joined = this.#join();
    this.#held -= size;
    if (joined.length > size) this.#chunks[0] = joined.subarray(size);
    else this.#chunks = [];
    return joined.subarray(this.#lengthBytes, size);
  }

  /** Everything that has not become a packet; the reader is empty afterwards. */
  rest(): Buffer {
    const rest = this.#join();
    this.#chunks = [];
    this.#held = 0;
    return rest;
  }

  #peekLength(): number {
    const [first] = this.#chunks;
    if (!first || first.length < this.#lengthBytes) return this.#join().readUIntBE(0, this.#lengthBytes);
    return this.#lengthBytes === 4 ? first.readUInt32BE(0) : first.readUInt16BE(0);
  }

  #join(): Buffer {
    const [first] = this.#chunks;
    if (this.#chunks.length === 1 && first) return first;
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = joined.length === 0 ? [] : [joined];
    return joined;
  }
}
