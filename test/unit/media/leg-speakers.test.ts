// Speakers over several legs: one active speaker, one list of levels.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { AudioLevel } from '../../../api/socket/peer-events.ts';
import { silenceHoldTime } from '../../../node/media/active-speaker-filter.ts';
import { LegSpeakers } from '../../../node/media/legs/leg-speakers.ts';

const [here, there] = [{ leg: 'here' }, { leg: 'there' }];
const level = (peerId: string, value: number): AudioLevel => ({ peerId, level: value });

function listen(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const active: (string | null)[] = [];
  const levels: AudioLevel[][] = [];
  const speakers = new LegSpeakers({ onActiveSpeaker: (peerId) => active.push(peerId), onAudioLevels: (list) => levels.push(list) });
  return { speakers, active, levels };
}

test('with one leg, its dominant speaker is the active one', (t) => {
  const { speakers, active, levels } = listen(t);
  speakers.hears(here, [level('a', -20)]);
  speakers.dominates(here, 'b');
  speakers.hears(here, [level('a', -20), level('b', -30)]);
  speakers.hears(here, []);
  t.mock.timers.tick(silenceHoldTime);
  assert.deepEqual(active, ['a', 'b', null]);
  assert.deepEqual(levels, [[level('a', -20)], [level('a', -20), level('b', -30)], []]);
});

test('the speaker of another leg becomes active after two louder reports, and not after one', (t) => {
  const { speakers, active } = listen(t);
  speakers.dominates(here, 'a');
  speakers.hears(here, [level('a', -30)]);
  speakers.dominates(there, 'b');
  speakers.hears(there, [level('b', -20)]);
  speakers.hears(here, [level('a', -10)]);
  speakers.hears(there, [level('b', -20)]);
  assert.deepEqual(active, ['a']);
  speakers.hears(here, [level('a', -30)]);
  speakers.hears(there, [level('b', -20)]);
  assert.deepEqual(active, ['a']);
  speakers.hears(there, [level('b', -20)]);
  assert.deepEqual(active, ['a', 'b']);
});

test('the speaker of another leg becomes active at once when the leg of the active one is silent', (t) => {
  const { speakers, active } = listen(t);
  speakers.dominates(here, 'a');
  speakers.hears(here, [level('a', -30)]);
  speakers.dominates(there, 'b');
  speakers.hears(here, []);
  speakers.hears(there, [level('b', -50)]);
  t.mock.timers.tick(silenceHoldTime);
  assert.deepEqual(active, ['a', 'b']);
});

test('levels of all legs are one list, the loudest first, reported as often as by one leg', (t) => {
  const { speakers, levels } = listen(t);
  speakers.hears(here, [level('a', -30)]);
  speakers.hears(there, [level('b', -20), level('c', -40)]);
  speakers.hears(here, [level('a', -35)]);
  speakers.hears(there, [level('b', -20)]);
  assert.deepEqual(levels, [[level('a', -30)], [level('b', -20), level('a', -30), level('c', -40)], [level('b', -20), level('a', -35)]]);
  speakers.hears(there, []);
  assert.deepEqual(levels.length, 3);
  speakers.hears(here, []);
  assert.deepEqual(levels.at(-1), []);
});

test('a speaker who leaves is not active any more', (t) => {
  const { speakers, active } = listen(t);
  speakers.dominates(here, 'a');
  speakers.left(here, 'a');
  speakers.hears(there, [level('b', -20)]);
  assert.deepEqual(active, ['a', null, 'b']);
});

test('a lost leg has no speaker and no levels any more', (t) => {
  const { speakers, active, levels } = listen(t);
  speakers.dominates(here, 'a');
  speakers.hears(here, [level('a', -10)]);
  speakers.dominates(there, 'b');
  speakers.hears(there, [level('b', -20)]);
  speakers.left(here, 'a');
  speakers.lost(here);
  speakers.hears(there, [level('b', -20)]);
  assert.deepEqual(levels.at(-1), [level('b', -20)]);
  assert.equal(active.at(-1), 'b');
});

test('the active speaker remains the active one, and is listed once, when it moves to another leg', (t) => {
  const { speakers, active, levels } = listen(t);
  speakers.joined(here, 'a');
  speakers.dominates(here, 'a');
  speakers.hears(here, [level('a', -20)]);
  speakers.joined(there, 'a');
  speakers.hears(there, [level('a', -19)]);
  assert.deepEqual(levels.at(-1), [level('a', -19)]);
  speakers.left(here, 'a');
  speakers.hears(here, []);
  speakers.hears(there, [level('a', -20)]);
  speakers.dominates(there, 'a');
  assert.deepEqual(active, ['a']);
  speakers.left(there, 'a');
  assert.deepEqual(active, ['a', null]);
});
