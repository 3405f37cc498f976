// Erlang terms as JavaScript values.

/** An atom is its name. There is no atom table that a remote node could fill. */
export class Atom {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

export class Tuple {
  readonly items: readonly Term[];

  constructor(items: readonly Term[]) {
    this.items = items;
  }
}

/** A list whose last tail is not the empty list, such as `[alias | Reference]`. */
export class ImproperList {
  readonly items: readonly Term[];
  readonly tail: Term;

  constructor(items: readonly Term[], tail: Term) {
    this.items = items;
    this.tail = tail;
  }
}

export class Pid {
  readonly node: string;
  readonly id: number;
  readonly serial: number;
  readonly creation: number;

  constructor(node: string, id: number, serial: number, creation: number) {
    this.node = node;
    this.id = id;
    this.serial = serial;
    this.creation = creation;
  }
}

export class Reference {
  readonly node: string;
  readonly creation: number;
  /** One to five words of 32 bits. */
  readonly words: readonly number[];

  constructor(node: string, creation: number, words: readonly number[]) {
    this.node = node;
    this.creation = creation;
    this.words = words;
  }
}

export class Port {
  readonly node: string;
  readonly id: bigint;
  readonly creation: number;

  constructor(node: string, id: bigint, creation: number) {
    this.node = node;
    this.id = id;
    this.creation = creation;
  }
}

/** A number that is a float in Erlang even without a fraction. */
export class Float {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** A binary whose last byte counts only its `lastBits` highest bits (1 to 8). */
export class BitString {
  readonly bytes: Buffer;
  readonly lastBits: number;

  constructor(bytes: Buffer, lastBits: number) {
    this.bytes = bytes;
    this.lastBits = lastBits;
  }
}

/** `fun Module:Function/Arity`. */
export class ExternalFun {
  readonly module: string;
  readonly name: string;
  readonly arity: number;

  constructor(module: string, name: string, arity: number) {
    this.module = module;
    this.name = name;
    this.arity = arity;
  }
}

/** A closure: its bytes, valid only on the node that created it. */
export class OpaqueFun {
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

/**
 * Any term. A `number` is a safe integer, a `bigint` any other integer; an array is a proper list; a Buffer is a binary. A string encodes
 * as the binary of its UTF-8; decoding never returns one.
 */
export type Term =
  | Atom
  | Tuple
  | ImproperList
  | Pid
  | Reference
  | Port
  | Float
  | BitString
  | ExternalFun
  | OpaqueFun
  | Buffer
  | string
  | number
  | bigint
  | readonly Term[]
  | ReadonlyMap<Term, Term>;

export function atom(name: string): Atom {
  return new Atom(name);
}

export function tuple(...items: readonly Term[]): Tuple {
  return new Tuple(items);
}

export function isAtom(term: Term | undefined, name: string): boolean {
  return term instanceof Atom && term.name === name;
}

/** The elements of a tuple; an empty array for any other term. */
export function tupleElements(term: Term | undefined): readonly Term[] {
  return term instanceof Tuple ? term.items : [];
}

/** A term for logs: at most 200 characters, binaries by size only. */
export function describeTerm(term: Term | undefined): string {
  const text = describe(term, 4);
  return text.length > 200 ? `${text.slice(0, 197)}...` : text;
}

function describe(term: Term | undefined, depth: number): string {
  if (depth === 0) return '...';
  const all = (terms: readonly Term[]) =>
    terms
      .slice(0, 10)
      .map((each) => describe(each, depth - 1))
      .join(',');
  if (term instanceof Atom) return term.name;
  if (term instanceof Tuple) return `{${all(term.items)}}`;
  if (Array.isArray(term)) return `[${all(term)}]`;
  if (term instanceof ImproperList) return `[${all(term.items)}|${describe(term.tail, depth - 1)}]`;
  if (term instanceof Pid) return `<${term.node} ${term.id}>`;
  if (term instanceof Reference) return `#Ref<${term.node}>`;
  if (term instanceof Float) return String(term.value);
  if (typeof term === 'number') return String(term);
  if (Buffer.isBuffer(term)) return `<<${term.length} bytes>>`;
  return `a ${term?.constructor.name ?? 'missing term'}`;
}
