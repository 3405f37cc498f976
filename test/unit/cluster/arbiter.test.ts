// Arbiter: reservations of names during room creation, their owner, expiry and limit.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Arbiter, reservationTtl } from '../../../node/cluster/arbiter.ts';

const idOf = (name: string) => ({ space: 'id', name }) as const;

test('a reservation blocks other nodes until it is released or expires', () => {
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
  // A repeated reservation by the same holder restarts its TTL.
  assert.deepEqual(arbiter.reserve([idOf('a')], 'one@host', 'first'), free);
  now = reservationTtl;
  assert.deepEqual(arbiter.reserve([idOf('b'), idOf('c')], 'two@host', 'second'), free);
  assert.deepEqual(arbiter.reserve([idOf('a')], 'two@host', 'second'), taken);
  arbiter.release([idOf('a')], 'first');
  assert.deepEqual(arbiter.reserve([idOf('a')], 'two@host', 'second'), free);
});

test('reservations beyond the limit are rejected with a retryable code until others are released', () => {
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
