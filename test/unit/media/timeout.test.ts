// Timeouts of media worker requests.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkerTimeoutError, withTimeout } from '../../../node/media/timeout.ts';
import { holdUp } from '../../kit/pace.ts';

test('a result or failure in time is passed through', async () => {
  assert.equal(await withTimeout(Promise.resolve(1), 'count'), 1);
  await assert.rejects(withTimeout(Promise.reject(new TypeError('no')), 'count'), TypeError);
});

test('a result after the deadline is passed to discard', async () => {
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

test('a response that is pending after a blocked event loop is still accepted', async () => {
  const call = Promise.withResolvers<string>();
  const waiting = withTimeout(call.promise, 'count', undefined, 1);
  setImmediate(() => {
    holdUp(20);
    // Like data pending in a pipe: read after timers ran.
    setImmediate(() => call.resolve('in time'));
  });
  assert.equal(await waiting, 'in time');
});
