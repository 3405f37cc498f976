// Heartbeat of a media worker: when it is declared dead.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Heartbeat } from '../../../../node/media/worker/heartbeat.ts';

test('a responsive worker is probed repeatedly', () => {
  const heartbeat = new Heartbeat();
  for (let poll = 0; poll < 5; poll += 1) {
    assert.equal(heartbeat.check(), 'ask');
    heartbeat.answered();
  }
});

test('a silent worker is dead at the third check after the probe, 6 s later', () => {
  const heartbeat = new Heartbeat();
  assert.deepEqual(
    [0, 1, 2, 3].map(() => heartbeat.check()),
    ['ask', 'late', 'wait', 'dead'],
  );
});

test('a worker is alive while it answers any request, however late the probe is answered', () => {
  const heartbeat = new Heartbeat();
  heartbeat.check();
  for (let poll = 0; poll < 10; poll += 1) {
    assert.notEqual(heartbeat.check(), 'dead');
    assert.notEqual(heartbeat.check(), 'dead');
    heartbeat.heard();
  }
  heartbeat.answered();
  assert.equal(heartbeat.check(), 'ask');
});
