// End of a node: the order of its steps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Closers, Ending, type EndStep } from '../../node/common/end-of-node.ts';

test('steps run in their order, whatever the order of the start, and the closers of a step side by side', async () => {
  const closers = new Closers();
  const ran: string[] = [];
  const slow = Promise.withResolvers<void>();
  const order: EndStep[] = ['files', 'cluster', 'rooms', 'http', 'drain'];
  for (const step of order) closers.add(step, () => ran.push(step));
  closers.add('http', async () => {
    await slow.promise;
    ran.push('slow http');
  });
  const ended = closers.run(new Ending(0));
  await turn();
  assert.deepEqual(ran, ['drain', 'rooms', 'http']);
  slow.resolve();
  await ended;
  assert.deepEqual(ran, ['drain', 'rooms', 'http', 'slow http', 'cluster', 'files']);
  await closers.run(new Ending(0));
  assert.equal(ran.length, 6, 'each closer runs once');
});

test('nothing is waited for if the start of the node failed', () => {
  const failed = new Ending(0, true);
  assert.deepEqual([failed.left(10_000), failed.timeout(2_000)], [0, 0]);
});
