// Who speaks, decided from what is heard.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ActiveSpeakerFilter, silenceHoldTime } from '../../../node/media/active-speaker-filter.ts';

function speaker(t: TestContext): { speaker: ActiveSpeakerFilter; changes: (string | null)[] } {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const changes: (string | null)[] = [];
  return { speaker: new ActiveSpeakerFilter((peerId) => changes.push(peerId)), changes };
}

test('the dominant speaker is told on changes only', (t) => {
  const { speaker: one, changes } = speaker(t);
  for (const peerId of ['a', 'a', 'b', 'b', 'a']) one.dominates(peerId);
  assert.deepEqual(changes, ['a', 'b', 'a']);
});

test('nobody speaks after a while of silence; a pause between words is no silence', (t) => {
  const { speaker: one, changes } = speaker(t);
  one.dominates('a');
  one.silence();
  t.mock.timers.tick(silenceHoldTime - 1);
  one.hears(['a']);
  t.mock.timers.tick(silenceHoldTime);
  assert.deepEqual(changes, ['a']);
  one.silence();
  one.silence();
  t.mock.timers.tick(silenceHoldTime);
  assert.deepEqual(changes, ['a', null]);
});

test('after silence the same speaker is found again, though the worker does not tell a new dominant one', (t) => {
  const { speaker: one, changes } = speaker(t);
  one.dominates('a');
  one.silence();
  t.mock.timers.tick(silenceHoldTime);
  one.hears(['b', 'a']);
  assert.deepEqual(changes, ['a', null, 'a']);
  one.hears(['b']);
  assert.deepEqual(changes, ['a', null, 'a']);
});

test('where the dominant one is not among those who are heard after silence, the loudest speaks', (t) => {
  const { speaker: one, changes } = speaker(t);
  one.hears(['b', 'c']);
  one.hears([]);
  assert.deepEqual(changes, ['b']);
});

test('a speaker who leaves speaks no longer; another who leaves changes nothing', (t) => {
  const { speaker: one, changes } = speaker(t);
  one.dominates('a');
  one.left('b');
  one.left('a');
  one.left('a');
  assert.deepEqual(changes, ['a', null]);
});

test('closing stops the clock', (t) => {
  const { speaker: one, changes } = speaker(t);
  one.dominates('a');
  one.silence();
  one.close();
  t.mock.timers.tick(silenceHoldTime * 2);
  assert.deepEqual(changes, ['a']);
});
