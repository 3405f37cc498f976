// Term reader: decodes the external term format. Every length is checked against the available bytes before memory is allocated.
import { isUtf8 } from 'node:buffer';
import { WireError } from '../wire-error.ts';
import { tags, versionByte } from './term-tags.ts';
import { Atom, BitString, ExternalFun, Float, ImproperList, OpaqueFun, Pid, Port, Reference, type Term, Tuple } from './terms.ts';

export type TermLimits = {
  /** Maximum nesting depth. */
  depth: number;
  /** Maximum number of nested terms, all levels together. */
  elements: number;
  /** Maximum bytes of one integer. */
  integerBytes: number;
};

export const defaultTermLimits: TermLimits = { depth: 128, elements: 262_144, integerBytes: 1024 };

/** Limits of Erlang: 255 characters, each up to 4 bytes. */
const maxAtomBytes = 1020;
const maxAtomCharacters = 255;
const maxReferenceWords = 5;

/** Reads consecutive terms. Binaries are views of the bytes, not copies. The limits apply to all terms together. */
export class TermReader {
  readonly #bytes: Buffer;
  readonly #limits: TermLimits;
  #at: number;
  #elements = 0;

  constructor(bytes: Buffer, at = 0, limits: TermLimits = defaultTermLimits) {
    this.#bytes = bytes;
    this.#at = at;
    this.#limits = limits;
  }

  get done(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** One term with its version byte. @throws WireError */
  read(): Term {
    if (this.#u8() !== versionByte) throw new WireError('unknown version of term');
    return this.#term(this.#limits.depth);
  }

  #term(depth: number): Term {
    if (depth === 0) throw new WireError('term is nested too deep');
    this.#count(1);
    const tag = this.#u8();
    switch (tag) {
      case tags.smallInteger:
        return this.#u8();
      case tags.integer:
        return this.#u32() | 0;
      case tags.smallAtomUtf8:
        return new Atom(this.#atomText(this.#u8(), true));
      case tags.smallTuple:
        return new Tuple(this.#terms(this.#u8(), depth));
      case tags.binary:
        return this.#take(this.#u32());
      case tags.nil:
        return [];
      case tags.list:
        return this.#list(depth);
      case tags.string:
        return this.#smallIntegers(this.#u16());
      case tags.newerReference:
      case tags.newReference:
        return this.#reference(tag);
      case tags.newPid:
      case tags.pid:
        return this.#pid(tag);
      case tags.map:
        return this.#map(depth);
      case tags.atomUtf8:
        return new Atom(this.#atomText(this.#u16(), true));
      case tags.smallAtom:
        return new Atom(this.#atomText(this.#u8(), false));
      case tags.atom:
        return new Atom(this.#atomText(this.#u16(), false));
      case tags.largeTuple:
        return new Tuple(this.#terms(this.#u32(), depth));
      case tags.smallBig:
        return this.#integer(this.#u8());
      case tags.largeBig:
        return this.#integer(this.#u32());
      case tags.newFloat:
        return this.#float();
      case tags.bitBinary:
        return this.#bitString();
      case tags.v4Port:
      case tags.newPort:
      case tags.port:
        return this.#port(tag);
      case tags.export:
        return this.#externalFun();
      case tags.newFun:
        return this.#opaqueFun();
      default:
        // This includes compressed terms and atom cache references: our flags do not allow them.
        throw new WireError(`unknown tag ${tag} of term`);
    }
  }

  #terms(count: number, depth: number): Term[] {
    // Each element takes at least one byte, so a count alone allocates no memory.
    if (count > this.#bytes.length - this.#at) throw new WireError('term exceeds the received bytes');
    const terms: Term[] = [];
    for (let index = 0; index < count; index += 1) terms.push(this.#term(depth - 1));
    return terms;
  }

  #list(depth: number): Term {
    const items = this.#terms(this.#u32(), depth);
    const tail = this.#term(depth - 1);
    if (Array.isArray(tail)) return tail.length === 0 ? items : items.concat(tail);
    if (tail instanceof ImproperList) return new ImproperList(items.concat(tail.items), tail.tail);
    return items.length === 0 ? tail : new ImproperList(items, tail);
  }

  #smallIntegers(count: number): Term[] {
    this.#count(count);
    return Array.from(this.#take(count));
  }

  #map(depth: number): Map<Term, Term> {
    const count = this.#u32();
    if (count * 2 > this.#bytes.length - this.#at) throw new WireError('term exceeds the received bytes');
    const map = new Map<Term, Term>();
    for (let index = 0; index < count; index += 1) {
      const key = this.#term(depth - 1);
      map.set(key, this.#term(depth - 1));
    }
    return map;
  }

  #integer(size: number): number | bigint {
    if (size > this.#limits.integerBytes) throw new WireError('integer is too large');
    const negative = this.#u8() !== 0;
    const bytes = Buffer.from(this.#take(size)).reverse();
    const value = size === 0 ? 0n : BigInt(`0x${bytes.toString('hex')}`);
    const signed = negative ? -value : value;
    return Number.MIN_SAFE_INTEGER <= signed && signed <= Number.MAX_SAFE_INTEGER ? Number(signed) : signed;
  }

  #float(): Float {
    const value = this.#take(8).readDoubleBE();
    if (!Number.isFinite(value)) throw new WireError('float is not a number');
    return new Float(value);
  }

  #bitString(): BitString | Buffer {
    const size = this.#u32();
    const lastBits = this.#u8();
    if (lastBits < 1 || lastBits > 8 || size === 0) throw new WireError('bit string with an invalid number of bits');
    const bytes = this.#take(size);
    return lastBits === 8 ? bytes : new BitString(bytes, lastBits);
  }

  #pid(tag: number): Pid {
    const node = this.#atomName();
    const id = this.#u32();
    const serial = this.#u32();
    return new Pid(node, id, serial, tag === tags.newPid ? this.#u32() : this.#u8());
  }

  #reference(tag: number): Reference {
    const count = this.#u16();
    if (count < 1 || count > maxReferenceWords) throw new WireError('reference with an invalid length');
    const node = this.#atomName();
    const creation = tag === tags.newerReference ? this.#u32() : this.#u8();
    const words: number[] = [];
    for (let index = 0; index < count; index += 1) words.push(this.#u32());
    return new Reference(node, creation, words);
  }

  #port(tag: number): Port {
    const node = this.#atomName();
    const id = tag === tags.v4Port ? this.#take(8).readBigUInt64BE() : BigInt(this.#u32());
    return new Port(node, id, tag === tags.port ? this.#u8() : this.#u32());
  }

  #externalFun(): ExternalFun {
    const module = this.#atomName();
    const name = this.#atomName();
    if (this.#u8() !== tags.smallInteger) throw new WireError('fun without arity');
    return new ExternalFun(module, name, this.#u8());
  }

  #opaqueFun(): OpaqueFun {
    const start = this.#at - 1;
    // The size includes its own four bytes.
    const size = this.#u32();
    if (size < 4) throw new WireError('fun with an invalid length');
    this.#take(size - 4);
    return new OpaqueFun(this.#bytes.subarray(start, this.#at));
  }

  #atomName(): string {
    const tag = this.#u8();
    if (tag === tags.smallAtomUtf8) return this.#atomText(this.#u8(), true);
    if (tag === tags.atomUtf8) return this.#atomText(this.#u16(), true);
    if (tag === tags.smallAtom) return this.#atomText(this.#u8(), false);
    if (tag === tags.atom) return this.#atomText(this.#u16(), false);
    throw new WireError('expected an atom');
  }

  #atomText(size: number, utf8: boolean): string {
    if (size > maxAtomBytes) throw new WireError('atom is too long');
    const start = this.#at;
    const end = start + size;
    if (end > this.#bytes.length) throw new WireError('term exceeds the received bytes');
    this.#at = end;
    // Atoms are short and mostly ASCII. Building the string here is much faster than a call into the runtime.
    if (size <= 24) {
      let text = '';
      for (let index = start; index < end; index += 1) {
        const byte = this.#bytes[index] ?? 0;
        if (byte >= 0x80) return this.#decodeAtom(start, end, utf8);
        text += String.fromCharCode(byte);
      }
      return text;
    }
    return this.#decodeAtom(start, end, utf8);
  }

  #decodeAtom(start: number, end: number, utf8: boolean): string {
    const bytes = this.#bytes.subarray(start, end);
    if (utf8 && !isUtf8(bytes)) throw new WireError('atom is not UTF-8');
    const text = bytes.toString(utf8 ? 'utf8' : 'latin1');
    if (text.length > maxAtomCharacters && [...text].length > maxAtomCharacters) throw new WireError('atom is too long');
    return text;
  }

  #count(elements: number): void {
    this.#elements += elements;
    if (this.#elements > this.#limits.elements) throw new WireError('term has too many elements');
  }

  #take(size: number): Buffer {
    const end = this.#at + size;
    if (end > this.#bytes.length) throw new WireError('term exceeds the received bytes');
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  #u8(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw new WireError('term exceeds the received bytes');
    this.#at += 1;
    return byte;
  }

  #u16(): number {
    return this.#u8() * 0x100 + this.#u8();
  }

  #u32(): number {
    return this.#u16() * 0x1_0000 + this.#u16();
  }
}
