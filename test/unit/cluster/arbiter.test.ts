// Names that are reserved while rooms are made: by whom, for how long, and how many.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Arbiter, reservationTtl } from '../../../node/cluster/arbiter.ts';

const idOf = (name: string) => ({ space: 'id', name }) as const;

test('a name is of the first who asks, until it is released or its time is over', () => {
  let now = 0;
  const arbiter = new Arbiter(
    ({ name }) => name === 'living',
    () => now,
  );
  const free = { ok: true };
  const taken = { ok: false, taken: idOf('a') };
  assert.deepEqual(arbiter.reserve([idOf('living')], 'one@host', 'first'), { ok: false, taken: idOf('living') });
  assert.deepEqual(arbiter.reserve([idOf('a'), idOf('b')], 'one@host', 'first'), free);
  now = reservationTtl - 1;
  assert.deepEqual(arbiter.reserve([idOf('c'), idOf('a')], 'two@host', 'second'), taken);
  // Asked again by the same, it begins its time anew.
  assert.deepEqual(arbiter.reserve([idOf('a')], 'one@host', 'first'), free);
  now = reservationTtl;
  assert.deepEqual(arbiter.reserve([idOf('b'), idOf('c')], 'two@host', 'second'), free);
  assert.deepEqual(arbiter.reserve([idOf('a')], 'two@host', 'second'), taken);
  arbiter.release([idOf('a')], 'first');
  assert.deepEqual(arbiter.reserve([idOf('a')], 'two@host', 'second'), free);
});

test('of very many at once the last are refused with a code that says to ask again, and are let in when there is room', () => {
  let now = 0;
  const arbiter = new Arbiter(
    () => false,
    () => now,
  );
  for (let count = 0; count < 100_000; count += 2) {
    assert.equal(arbiter.reserve([idOf(`a-${count}`), idOf(`b-${count}`)], 'one@host', `t-${count}`).ok, true);
    now += 0.01;
  }
  assert.throws(() => arbiter.reserve([idOf('late')], 'one@host', 'late'), { code: 'unavailable', retryAfter: 15 });
  now = reservationTtl;
  assert.equal(arbiter.reserve([idOf('late')], 'one@host', 'late').ok, true);
});
