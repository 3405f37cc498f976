// When a worker is given up.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Heartbeat } from '../../../../node/media/worker/heartbeat.ts';

test('a worker that answers is asked again and again', () => {
  const heartbeat = new Heartbeat();
  for (let look = 0; look < 5; look += 1) {
    assert.equal(heartbeat.look(), 'ask');
    heartbeat.answered();
  }
});

test('a worker that says nothing is dead at the third look after the question, 6 s later', () => {
  const heartbeat = new Heartbeat();
  assert.deepEqual(
    [0, 1, 2, 3].map(() => heartbeat.look()),
    ['ask', 'late', 'wait', 'dead'],
  );
});

test('a worker that answers anything else is alive, however late the answer to this question is', () => {
  const heartbeat = new Heartbeat();
  heartbeat.look();
  for (let look = 0; look < 10; look += 1) {
    assert.notEqual(heartbeat.look(), 'dead');
    assert.notEqual(heartbeat.look(), 'dead');
    heartbeat.heard();
  }
  heartbeat.answered();
  assert.equal(heartbeat.look(), 'ask');
});
