// Term writer: encodes the external term format into buffers that are passed on without a copy.
import { tags, versionByte } from './term-tags.ts';
import { Atom, BitString, ExternalFun, Float, ImproperList, OpaqueFun, Pid, Port, Reference, type Term, Tuple } from './terms.ts';

const chunkBytes = 65_536;
const maxDepth = 256;
const maxAtomBytes = 1020;

/** Collects bytes until take(). Taken buffers are never modified, so they may stay in a socket. */
export class TermWriter {
  #bytes = Buffer.allocUnsafe(chunkBytes);
  #start = 0;
  #at = 0;

  /** Bytes since the last take(). */
  get size(): number {
    return this.#at - this.#start;
  }

  /** Bytes written since the last take(). */
  take(): Buffer {
    const taken = this.#bytes.subarray(this.#start, this.#at);
    this.#start = this.#at;
    // A small remainder of a chunk is not worth copying the next data.
    if (this.#bytes.length - this.#at < 1024) {
      this.#bytes = Buffer.allocUnsafe(chunkBytes);
      this.#start = 0;
      this.#at = 0;
    }
    return taken;
  }

  /** Discards bytes beyond this size. */
  truncate(size: number): void {
    this.#at = this.#start + size;
  }

  u8(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#at++] = value;
  }

  u16(value: number): void {
    this.#reserve(2);
    this.#bytes[this.#at++] = value >>> 8;
    this.#bytes[this.#at++] = value;
  }

  u32(value: number): void {
    this.#reserve(4);
    this.#bytes[this.#at++] = value >>> 24;
    this.#bytes[this.#at++] = value >>> 16;
    this.#bytes[this.#at++] = value >>> 8;
    this.#bytes[this.#at++] = value;
  }

  /** Overwrites four bytes written since the last take() with a number. `offset` counts from there. */
  patchU32(offset: number, value: number): void {
    this.#bytes.writeUInt32BE(value, this.#start + offset);
  }

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** A term with its version byte. @throws TypeError for values that are no term, RangeError for values that are too long. */
  write(term: Term): void {
    this.u8(versionByte);
    this.#term(term, maxDepth);
  }

  #term(term: Term, depth: number): void {
    if (depth === 0) throw new RangeError('term is nested too deep');
    if (typeof term === 'number') this.#number(term);
    else if (typeof term === 'string') this.#text(term);
    else if (typeof term === 'bigint') this.#bigint(term);
    else if (term instanceof Atom) this.#atom(term.name);
    else if (term instanceof Tuple) this.#tuple(term.items, depth);
    else if (Array.isArray(term)) this.#list(term, [], depth);
    else if (term instanceof Uint8Array) this.#binary(term);
    else this.#rarer(term as Exclude<Term, Atom | Tuple | Buffer | string | number | bigint | readonly Term[]>, depth);
  }

  #rarer(term: Exclude<Term, Atom | Tuple | Buffer | string | number | bigint | readonly Term[]>, depth: number): void {
    if (term instanceof Reference) this.#reference(term);
    else if (term instanceof Pid) this.#pid(term);
    else if (term instanceof Map) this.#map(term, depth);
    else if (term instanceof ImproperList) this.#list(term.items, term.tail, depth);
    else if (term instanceof Float) this.#float(term.value);
    else if (term instanceof BitString) this.#bitString(term);
    else if (term instanceof Port) this.#port(term);
    else if (term instanceof ExternalFun) this.#externalFun(term);
    else if (term instanceof OpaqueFun) this.bytes(term.bytes);
    else throw new TypeError(`${typeof term} is not a term`);
  }

  #number(value: number): void {
    if (!Number.isSafeInteger(value)) throw new TypeError('number is not an integer: use Float or a bigint');
    if (value >= 0 && value <= 0xff) {
      this.u8(tags.smallInteger);
      this.u8(value);
    } else if (value >= -0x8000_0000 && value <= 0x7fff_ffff) {
      this.u8(tags.integer);
      this.u32(value);
    } else this.#bigint(BigInt(value));
  }

  #bigint(value: bigint): void {
    if (BigInt.asIntN(32, value) === value) {
      this.#number(Number(value));
      return;
    }
    const hex = (value < 0n ? -value : value).toString(16);
    const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').reverse();
    if (bytes.length <= 0xff) {
      this.u8(tags.smallBig);
      this.u8(bytes.length);
    } else {
      this.u8(tags.largeBig);
      this.u32(bytes.length);
    }
    this.u8(value < 0n ? 1 : 0);
    this.bytes(bytes);
  }

  #atom(name: string): void {
    const size = Buffer.byteLength(name);
    if (size > maxAtomBytes) throw new RangeError('atom is too long');
    if (size <= 0xff) {
      this.u8(tags.smallAtomUtf8);
      this.u8(size);
    } else {
      this.u8(tags.atomUtf8);
      this.u16(size);
    }
    this.#utf8(name, size);
  }

  #utf8(text: string, size: number): void {
    this.#reserve(size);
    if (size === text.length && size <= 24) {
      for (let index = 0; index < size; index += 1) this.#bytes[this.#at++] = text.charCodeAt(index);
      return;
    }
    this.#at += this.#bytes.write(text, this.#at, size, 'utf8');
  }

  #text(text: string): void {
    const size = Buffer.byteLength(text);
    this.u8(tags.binary);
    this.u32(size);
    this.#utf8(text, size);
  }

  #binary(bytes: Uint8Array): void {
    this.u8(tags.binary);
    this.u32(bytes.length);
    this.bytes(bytes);
  }

  #bitString(term: BitString): void {
    this.u8(tags.bitBinary);
    this.u32(term.bytes.length);
    this.u8(term.lastBits);
    this.bytes(term.bytes);
  }

  #tuple(items: readonly Term[], depth: number): void {
    if (items.length <= 0xff) {
      this.u8(tags.smallTuple);
      this.u8(items.length);
    } else {
      this.u8(tags.largeTuple);
      this.u32(items.length);
    }
    for (const item of items) this.#term(item, depth - 1);
  }

  #list(items: readonly Term[], tail: Term, depth: number): void {
    if (items.length > 0) {
      this.u8(tags.list);
      this.u32(items.length);
      for (const item of items) this.#term(item, depth - 1);
    }
    if (Array.isArray(tail) && tail.length === 0) this.u8(tags.nil);
    else this.#term(tail, depth - 1);
  }

  #map(map: ReadonlyMap<Term, Term>, depth: number): void {
    this.u8(tags.map);
    this.u32(map.size);
    for (const [key, value] of map) {
      this.#term(key, depth - 1);
      this.#term(value, depth - 1);
    }
  }

  #pid(pid: Pid): void {
    this.u8(tags.newPid);
    this.#atom(pid.node);
    this.u32(pid.id);
    this.u32(pid.serial);
    this.u32(pid.creation);
  }

  #reference(reference: Reference): void {
    this.u8(tags.newerReference);
    this.u16(reference.words.length);
    this.#atom(reference.node);
    this.u32(reference.creation);
    for (const word of reference.words) this.u32(word);
  }

  #port(port: Port): void {
    this.u8(tags.v4Port);
    this.#atom(port.node);
    this.u32(Number(port.id >> 32n));
    this.u32(Number(port.id & 0xffff_ffffn));
    this.u32(port.creation);
  }

  #float(value: number): void {
    if (!Number.isFinite(value)) throw new TypeError('float must be finite');
    this.u8(tags.newFloat);
    this.#reserve(8);
    this.#at = this.#bytes.writeDoubleBE(value, this.#at);
  }

  #externalFun(fun: ExternalFun): void {
    this.u8(tags.export);
    this.#atom(fun.module);
    this.#atom(fun.name);
    this.u8(tags.smallInteger);
    this.u8(fun.arity);
  }

  #reserve(size: number): void {
    if (this.#at + size <= this.#bytes.length) return;
    const used = this.size;
    const larger = Buffer.allocUnsafe(Math.max(chunkBytes, (used + size) * 2));
    this.#bytes.copy(larger, 0, this.#start, this.#at);
    this.#bytes = larger;
    this.#start = 0;
    this.#at = used;
  }
}
