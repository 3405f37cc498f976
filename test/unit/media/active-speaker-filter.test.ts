// Active speaker filter: dominant speaker, silence, leaving peers.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ActiveSpeakerFilter, silenceHoldTime } from '../../../node/media/active-speaker-filter.ts';

function speaker(t: TestContext): { speaker: ActiveSpeakerFilter; changes: (string | null)[] } {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const changes: (string | null)[] = [];
  return { speaker: new ActiveSpeakerFilter((peerId) => changes.push(peerId)), changes };
}

test('the active speaker is reported on changes only', (t) => {
  const { speaker: one, changes } = speaker(t);
  for (const peerId of ['a', 'a', 'b', 'b', 'a']) one.dominates(peerId);
  assert.deepEqual(changes, ['a', 'b', 'a']);
});

test('the active speaker becomes null after silence, not during a pause between words', (t) => {
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

test('the same speaker is active again after silence, without a new dominant speaker event', (t) => {
  const { speaker: one, changes } = speaker(t);
  one.dominates('a');
  one.silence();
  t.mock.timers.tick(silenceHoldTime);
  one.hears(['b', 'a']);
  assert.deepEqual(changes, ['a', null, 'a']);
  one.hears(['b']);
  assert.deepEqual(changes, ['a', null, 'a']);
});

test('if the dominant speaker is not audible after silence, the loudest peer is active', (t) => {
  const { speaker: one, changes } = speaker(t);
  one.hears(['b', 'c']);
  one.hears([]);
  assert.deepEqual(changes, ['b']);
});

test('the active speaker becomes null when that peer leaves, and stays when another leaves', (t) => {
  const { speaker: one, changes } = speaker(t);
  one.dominates('a');
  one.left('b');
  one.left('a');
  one.left('a');
  assert.deepEqual(changes, ['a', null]);
});

test('closing stops the silence timer', (t) => {
  const { speaker: one, changes } = speaker(t);
  one.dominates('a');
  one.silence();
  one.close();
  t.mock.timers.tick(silenceHoldTime * 2);
  assert.deepEqual(changes, ['a']);
});
