// Key rotation, step by step.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type KeyState, keyStep, rotationOf, rotationText } from '../../../../../operator/clusters/secrets/keys.ts';

const hour = 3_600_000;
const facts: KeyState = {
  wanted: 1,
  data: { current: 'old' },
  rotation: { generation: 0, since: 0 },
  confirmed: true,
  lifetime: 25 * hour,
  now: 100 * hour,
};
const step = (but: Partial<KeyState>) => keyStep({ ...facts, ...but }, () => 'new');
const written = (but: Partial<KeyState>) => {
  const { message, ...rest } = step(but) as { message: string };
  assert.match(message, /\.$/);
  return rest;
};

test('nothing changes while the generation is unchanged', () => {
  assert.deepEqual(step({ wanted: 0 }), { do: 'nothing' });
  assert.deepEqual(step({ data: {} }), { do: 'nothing' });
});

test('a new key is distributed as second, becomes first when all nodes have it, and the old key is kept until its tokens expire', () => {
  assert.deepEqual(written({}), { do: 'write', data: { current: 'old', next: 'new' }, rotation: { generation: 0, since: 0 } });
  assert.equal(step({ data: { current: 'old', next: 'new' }, confirmed: false }).do, 'wait');
  const turned = { generation: 1, since: facts.now };
  assert.deepEqual(written({ data: { current: 'old', next: 'new' } }), {
    do: 'write',
    data: { current: 'new', previous: 'old' },
    rotation: turned,
  });
  const after = { data: { current: 'new', previous: 'old' }, rotation: turned };
  assert.deepEqual(step({ ...after, now: facts.now + 24 * hour }), { do: 'nothing' });
  assert.deepEqual(written({ ...after, now: facts.now + 25 * hour }), { do: 'write', data: { current: 'new' }, rotation: turned });
});

test('the next rotation waits for the tokens of the old key', () => {
  const waiting = step({ wanted: 2, data: { current: 'new', previous: 'old' }, rotation: { generation: 1, since: facts.now } });
  assert.deepEqual(waiting, {
    do: 'wait',
    message: 'The next key rotation starts when tokens of the old key have expired, at 1970-01-06T05:00:00.000Z.',
  });
});

test('an interrupted rotation is resumed, even if the generation was reverted', () => {
  assert.equal(step({ wanted: 0, data: { current: 'old', next: 'new' } }).do, 'write');
});

test('the state of the rotation is restored from the annotation, and missing state counts as the current generation', () => {
  const rotation = { generation: 3, since: facts.now };
  assert.deepEqual(rotationOf(rotationText(rotation), 0), rotation);
  assert.deepEqual(rotationOf(undefined, 2), { generation: 2, since: 0 });
  assert.deepEqual(rotationOf('nonsense', 2), { generation: 2, since: 0 });
});
