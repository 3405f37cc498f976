// Packet reader: splits a byte stream into length-prefixed packets.
import { WireError } from './wire-error.ts';

/** Holds only received bytes: a claimed length allocates no memory. */
export class PacketReader {
  #lengthBytes: 2 | 4;
  #maxLength: number;
  #chunks: Buffer[] = [];
  #held = 0;

  /** `maxLength`: maximum bytes of a packet, without its length. */
  constructor(lengthBytes: 2 | 4, maxLength: number) {
    this.#lengthBytes = lengthBytes;
    this.#maxLength = maxLength;
  }

  /** Bytes of an incomplete packet. */
  get held(): number {
    return this.#held;
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#held += chunk.length;
  }

  /** The next complete packet without its length. @throws WireError if it is too long. */
  next(): Buffer | undefined {
    if (this.#held < this.#lengthBytes) return undefined;
    const length = this.#peekLength();
    if (length > this.#maxLength) throw new WireError(`packet of ${length} bytes is too long`);
    const size = this.#lengthBytes + length;
    if (this.#held < size) return undefined;
    const joined = this.#join();
    this.#held -= size;
    if (joined.length > size) this.#chunks[0] = joined.subarray(size);
    else this.#chunks = [];
    return joined.subarray(this.#lengthBytes, size);
  }

  /** All remaining bytes. The reader is empty afterwards. */
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
