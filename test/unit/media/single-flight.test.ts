// Things that take a moment to make, shared and given up.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SingleFlight } from '../../../node/media/single-flight.ts';

class Thing {
  closed = false;
  close(): void {
    this.closed = true;
  }
}
const things = () => new SingleFlight<Thing>((id) => new Error(`${id} is gone`));

test('two who ask at once share one', async () => {
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

test('one that is given up while it is made is closed, and its maker is told', async () => {
  const all = things();
  const call = Promise.withResolvers<Thing>();
  const waiting = all.getOrMake('a', () => call.promise);
  all.close('a');
  const next = new Thing();
  const again = all.getOrMake('a', async () => next);
  const late = new Thing();
  call.resolve(late);
  await assert.rejects(waiting, /a is gone/);
  assert.equal(late.closed, true);
  assert.equal(await again, next);
  assert.equal(next.closed, false);
  assert.deepEqual(all.made(), [['a', next]]);
});

test('a failure is forgotten: the next one tries again', async () => {
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

test('one that ended by itself is forgotten, before it was handed out too', async () => {
  const all = things();
  const dead = new Thing();
  dead.close();
  await assert.rejects(
    all.getOrMake('a', async () => dead),
    /a is gone/,
  );
  assert.equal(all.has('a'), false);
  const thing = await all.getOrMake('a', async () => new Thing());
  all.ended('a', new Thing());
  assert.equal(all.has('a'), true);
  all.ended('a', thing);
  assert.equal(all.has('a'), false);
});

test('closing all closes what is there and gives up what is on its way', async () => {
  const all = things();
  const thing = await all.getOrMake('a', async () => new Thing());
  const waiting = all.getOrMake('b', async () => new Thing());
  all.closeAll();
  all.close('c');
  assert.equal(thing.closed, true);
  await assert.rejects(waiting, /b is gone/);
  assert.equal(all.size, 0);
});
