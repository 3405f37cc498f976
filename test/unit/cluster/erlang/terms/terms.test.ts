// External term format: round trips, bytes as written by Erlang, and rejected input.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { TermWriter } from '../../../../../node/cluster/erlang/terms/term-writer.ts';
import {
  atom,
  BitString,
  describeTerm,
  ExternalFun,
  Float,
  ImproperList,
  Pid,
  Port,
  Reference,
  type Term,
  tuple,
} from '../../../../../node/cluster/erlang/terms/terms.ts';
import { WireError } from '../../../../../node/cluster/erlang/wire-error.ts';
import { decodeTerm, encodeTerm } from '../../../../kit/erlang-terms.ts';

const bytes = (...all: number[]) => Buffer.from(all);

describe('the external term format', () => {
  const samples: readonly Term[] = [
    0,
    255,
    256,
    -1,
    0x7fff_ffff,
    -0x8000_0000,
    0x8000_0000,
    Number.MAX_SAFE_INTEGER,
    Number.MIN_SAFE_INTEGER,
    2n ** 64n,
    -(2n ** 2047n),
    2n ** 2048n,
    new Float(1),
    new Float(-0.1),
    atom(''),
    atom('ok'),
    atom('größe'),
    atom('ж'.repeat(255)),
    Buffer.from('some bytes'),
    Buffer.alloc(0),
    new BitString(Buffer.of(0xff, 0xe0), 3),
    [],
    [1, 2, 300],
    [[], [[]]],
    new ImproperList([atom('alias')], new Reference('a@b', 1, [1, 2, 3])),
    tuple(),
    tuple(...Array.from({ length: 300 }, (_, index) => index)),
    new Pid('a@b', 0xffff_ffff, 0, 0x7fff_ffff),
    new Reference('a@b', 7, [1, 2, 3, 4, 0xffff_ffff]),
    new Port('a@b', 2n ** 63n, 1),
    new ExternalFun('lists', 'map', 2),
    new Map<Term, Term>([[atom('k'), tuple(1, [2])]]),
  ];

  test('returns terms of every type unchanged', () => {
    for (const sample of samples) assert.deepEqual(decodeTerm(encodeTerm(sample)), sample);
    assert.deepEqual(decodeTerm(encodeTerm(samples)), samples);
  });

  test('writes a string as the binary of its UTF-8', () => {
    assert.deepEqual(decodeTerm(encodeTerm('größe')), Buffer.from('größe'));
    const long = 'é'.repeat(100_000);
    assert.deepEqual(decodeTerm(encodeTerm(tuple(long))), tuple(Buffer.from(long)));
  });

  test('reads lists of small integers, older atom tags, and nested tails as one list', () => {
    assert.deepEqual(decodeTerm(bytes(131, 107, 0, 2, 7, 8)), [7, 8]);
    assert.deepEqual(decodeTerm(bytes(131, 100, 0, 1, 0xe9)), atom('é'));
    assert.deepEqual(decodeTerm(bytes(131, 115, 1, 97)), atom('a'));
    assert.deepEqual(decodeTerm(bytes(131, 108, 0, 0, 0, 1, 97, 1, 107, 0, 1, 2)), [1, 2]);
    assert.deepEqual(decodeTerm(bytes(131, 110, 0, 1)), 0);
  });

  test('does not modify taken buffers by later writes', () => {
    const writer = new TermWriter();
    const taken: Buffer[] = [];
    for (let index = 0; index < 5000; index += 1) {
      writer.write(tuple(index, 'x'.repeat(index % 100)));
      taken.push(writer.take());
    }
    for (const [index, each] of taken.entries()) assert.deepEqual(decodeTerm(each), tuple(index, Buffer.from('x'.repeat(index % 100))));
    writer.write(1);
    const { size } = writer;
    writer.write(2);
    writer.truncate(size);
    assert.equal(decodeTerm(writer.take()), 1);
  });

  test('rejects values that are no term', () => {
    for (const wrong of [1.5, Number.NaN, undefined, true, null, {}])
      assert.throws(() => encodeTerm(wrong as Term), TypeError, String(wrong));
    assert.throws(() => encodeTerm(atom('x'.repeat(1021))), RangeError);
    assert.throws(() => encodeTerm(new Float(Number.POSITIVE_INFINITY)), TypeError);
    const circle: Term[] = [];
    circle.push(circle);
    assert.throws(() => encodeTerm(circle), RangeError);
  });

  test('describes a term for the log without its contents', () => {
    assert.equal(describeTerm(tuple(atom('a'), Buffer.from('secret'), [1])), '{a,<<6 bytes>>,[1]}');
    assert.ok(describeTerm(samples).length <= 200);
  });
});

describe('a received term', () => {
  const refused: Record<string, Buffer> = {
    'of an unknown version': bytes(130, 97, 1),
    'that is compressed': bytes(131, 80, 0, 0, 0, 1, 0x78),
    'of an unknown tag': bytes(131, 1),
    'that refers to an atom cache': bytes(131, 82, 0),
    'that is empty': bytes(131),
    'with a tuple of 2^32-1 elements': bytes(131, 105, 255, 255, 255, 255, 97, 1),
    'with a list of 2^32-1 elements': bytes(131, 108, 255, 255, 255, 255, 97, 1),
    'with a map of 2^32-1 pairs': bytes(131, 116, 255, 255, 255, 255, 97, 1),
    'with a binary of 2^32-1 bytes': bytes(131, 109, 255, 255, 255, 255, 1),
    'with an integer of 2^32-1 bytes': bytes(131, 111, 255, 255, 255, 255, 0, 1),
    'with an atom that is not UTF-8': bytes(131, 119, 2, 0xff, 0xfe),
    'with an atom of 256 characters': Buffer.concat([bytes(131, 118, 1, 0), Buffer.alloc(256, 97)]),
    'with a reference of six words': Buffer.concat([bytes(131, 90, 0, 6, 119, 1, 97), Buffer.alloc(28)]),
    'with a reference without words': Buffer.concat([bytes(131, 90, 0, 0, 119, 1, 97), Buffer.alloc(4)]),
    'with a pid whose node is no atom': bytes(131, 88, 97, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    'with an infinite float': bytes(131, 70, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0),
    'with a bit string of nine bits in a byte': bytes(131, 77, 0, 0, 0, 1, 9, 1),
    'with a fun shorter than its own length': bytes(131, 112, 0, 0, 0, 3),
  };

  for (const [what, wrong] of Object.entries(refused)) {
    test(`${what} is rejected`, () => {
      assert.throws(() => decodeTerm(wrong), WireError);
    });
  }

  test('nested deeper than the limit is rejected without recursion', () => {
    const deep = (depth: number) => Buffer.concat([bytes(131), Buffer.alloc(depth * 2, bytes(104, 1)), bytes(106)]);
    assert.doesNotThrow(() => decodeTerm(deep(100)));
    assert.throws(() => decodeTerm(deep(1_000_000)), /nested too deep/);
    const tails = Buffer.concat([bytes(131), Buffer.alloc(7 * 100_000, bytes(108, 0, 0, 0, 1, 97, 1)), bytes(106)]);
    assert.throws(() => decodeTerm(tails), /nested too deep/);
  });

  test('with more elements than the limit is rejected, at any nesting', () => {
    const limits = { depth: 10, elements: 100, integerBytes: 10 };
    const list = (count: number) => encodeTerm(Array.from({ length: count }, () => 1));
    assert.doesNotThrow(() => decodeTerm(list(90), limits));
    assert.throws(() => decodeTerm(list(101), limits), /too many elements/);
    assert.throws(() => decodeTerm(Buffer.concat([bytes(131, 107, 0, 200), Buffer.alloc(200)]), limits), /too many elements/);
    assert.throws(() => decodeTerm(encodeTerm(2n ** 88n), limits), /integer is too large/);
  });
});
