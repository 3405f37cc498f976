// Calls that do not wait for ever.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkerTimeoutError, withTimeout } from '../../../node/media/timeout.ts';
import { holdUp } from '../../kit/pace.ts';

test('an answer in time is handed on, a failure too', async () => {
  assert.equal(await withTimeout(Promise.resolve(1), 'count'), 1);
  await assert.rejects(withTimeout(Promise.reject(new TypeError('no')), 'count'), TypeError);
});

test('what comes after the deadline is discarded, not lost', async () => {
  const call = Promise.withResolvers<string>();
  const discarded = Promise.withResolvers<string>();
  const waiting = withTimeout(call.promise, 'count', discarded.resolve, 5);
  await assert.rejects(
    waiting,
    (error) => error instanceof WorkerTimeoutError && error.code === 'unavailable' && /\(count\)$/.test(error.message),
  );
  call.resolve('late');
  assert.equal(await discarded.promise, 'late');
});

test('a process that was held up itself still takes an answer that waits', async () => {
  const call = Promise.withResolvers<string>();
  const waiting = withTimeout(call.promise, 'count', undefined, 1);
  setImmediate(() => {
    holdUp(20);
    // As data that waits in a pipe: read after timers ran.
    setImmediate(() => call.resolve('in time'));
  });
  assert.equal(await waiting, 'in time');
});
