// Blocking requests: woken when their condition is true, rejected after the timeout, and freed when clients disconnect.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BlockingRequests } from '../../../../../node/components/hls/playlist/blocking-requests.ts';

const never = () => false;

test('requests with the same condition are woken together, the others keep waiting', async () => {
  const blockingRequests = new BlockingRequests();
  const { signal } = new AbortController();
  let came = 0;
  const waits = [1, 1, 2].map((part) => blockingRequests.wait(String(part), { isOver: () => came >= part, deadline: 60_000, signal }));
  assert.deepEqual([blockingRequests.size, blockingRequests.kinds], [3, 2]);
  came = 1;
  blockingRequests.check();
  await Promise.all(waits.slice(0, 2));
  assert.deepEqual([blockingRequests.size, blockingRequests.kinds], [1, 1]);
  came = 2;
  blockingRequests.check();
  await waits[2];
  assert.deepEqual([blockingRequests.size, blockingRequests.kinds], [0, 0]);
});

test('a condition is freed when its last client disconnects', async () => {
  const blockingRequests = new BlockingRequests();
  const [leaving, staying] = [new AbortController(), new AbortController()];
  const aborted = Array.from({ length: 100 }, (_, key) =>
    blockingRequests.wait(String(key), { isOver: never, deadline: 60_000, signal: leaving.signal }),
  );
  const left = blockingRequests.wait('7', { isOver: never, deadline: 60_000, signal: staying.signal });
  leaving.abort();
  await Promise.all(aborted);
  assert.deepEqual([blockingRequests.size, blockingRequests.kinds], [1, 1]);
  staying.abort();
  await left;
  assert.deepEqual([blockingRequests.size, blockingRequests.kinds], [0, 0]);
});

test('a request is rejected after its timeout', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const blockingRequests = new BlockingRequests();
  const late = blockingRequests.wait('1', { isOver: never, deadline: 6000, signal: new AbortController().signal });
  t.mock.timers.tick(6000);
  await assert.rejects(late, { code: 'unavailable' });
  assert.equal(blockingRequests.kinds, 0);
});
