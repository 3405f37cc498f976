// Single flight: shared creation, cancellation and failures.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SingleFlight } from '../../../node/media/single-flight.ts';

class Thing {
  closed = false;
  close(): void {
    this.closed = true;
  }
}
const things = () => new SingleFlight<Thing>((id) => new Error(`${id} was closed`));

test('concurrent requests share one object', async () => {
  const all = things();
  let made = 0;
  const make = async () => {
    made += 1;
    return new Thing();
  };
  const [one, other] = await Promise.all([all.getOrMake('a', make), all.getOrMake('a', make)]);
  assert.equal(one, other);
  assert.equal(made, 1);
  assert.deepEqual(all.made(), [['a', one]]);
});

test('an object closed during creation is discarded, and its requester gets an error', async () => {
  const all = things();
  const call = Promise.withResolvers<Thing>();
  const waiting = all.getOrMake('a', () => call.promise);
  all.close('a');
  const next = new Thing();
  const again = all.getOrMake('a', async () => next);
  const late = new Thing();
  call.resolve(late);
  await assert.rejects(waiting, /a was closed/);
  assert.equal(late.closed, true);
  assert.equal(await again, next);
  assert.equal(next.closed, false);
  assert.deepEqual(all.made(), [['a', next]]);
});

test('a failed creation is not cached', async () => {
  const all = things();
  await assert.rejects(
    all.getOrMake('a', async () => {
      throw new Error('no');
    }),
    /no/,
  );
  assert.equal(all.has('a'), false);
  assert.ok(await all.getOrMake('a', async () => new Thing()));
});

test('an ended object is removed, also if it ended before it was returned', async () => {
  const all = things();
  const dead = new Thing();
  dead.close();
  await assert.rejects(
    all.getOrMake('a', async () => dead),
    /a was closed/,
  );
  assert.equal(all.has('a'), false);
  const thing = await all.getOrMake('a', async () => new Thing());
  all.ended('a', new Thing());
  assert.equal(all.has('a'), true);
  all.ended('a', thing);
  assert.equal(all.has('a'), false);
});

test('closeAll closes existing objects and discards pending ones', async () => {
  const all = things();
  const thing = await all.getOrMake('a', async () => new Thing());
  const waiting = all.getOrMake('b', async () => new Thing());
  all.closeAll();
  all.close('c');
  assert.equal(thing.closed, true);
  await assert.rejects(waiting, /b was closed/);
  assert.equal(all.size, 0);
});
