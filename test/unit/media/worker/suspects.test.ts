// Suspects: which rooms are suspects, and for how long.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Suspects, suspicionWindow } from '../../../../node/media/worker/suspects.ts';

const died = 'media worker died';

test('a room is a suspect from the second death within ten minutes until the first one expires', () => {
  let now = 0;
  const suspects = new Suspects(() => now);
  suspects.note('r', died);
  assert.equal(suspects.has('r'), false);
  now = suspicionWindow - 1;
  suspects.note('r', 'media worker hung');
  assert.equal(suspects.has('r'), true);
  assert.deepEqual(suspects.view(), { count: 1, over: 1 });
  now += 1;
  assert.equal(suspects.has('r'), false);
  assert.deepEqual(suspects.view(), { count: 0, over: 0 });
  suspects.note('r', died);
  assert.equal(suspects.has('r'), true);
});

test('deaths far apart, caused by another room or by node loss make no suspect', () => {
  let now = 0;
  const suspects = new Suspects(() => now);
  suspects.note('far', died);
  for (const id of ['other', 'lost']) {
    for (let death = 0; death < 3; death += 1) suspects.note(id, id === 'lost' ? 'node_lost' : `${died} at a packet of another room`);
  }
  now = suspicionWindow;
  suspects.note('far', died);
  assert.deepEqual(
    ['far', 'other', 'lost'].map((id) => suspects.has(id)),
    [false, false, false],
  );
});

test('beyond the limit the room that crashed longest ago is dropped', () => {
  const suspects = new Suspects(() => 0);
  for (let death = 0; death < 2; death += 1) for (let room = 0; room < 10_000; room += 1) suspects.note(`${room}`, died);
  assert.equal(suspects.has('0'), true);
  suspects.note('more', died);
  assert.equal(suspects.has('0'), false);
  assert.equal(suspects.view().count, 9_999);
});

test('expired deaths are dropped with the next one', () => {
  let now = 0;
  const suspects = new Suspects(() => now);
  for (let death = 0; death < 2; death += 1) suspects.note('old', died);
  now = suspicionWindow;
  suspects.note('new', died);
  now = 0;
  assert.equal(suspects.has('old'), false);
});
