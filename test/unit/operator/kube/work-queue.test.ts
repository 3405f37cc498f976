// Work queue of keys: deduplication, exclusive processing, backoff and priorities.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { WorkQueue, type WorkQueueOptions } from '../../../../operator/kube/work-queue.ts';
import { eventually } from '../../../kit/eventually.ts';
import { turns } from '../../../kit/turns.ts';

const never = new AbortController().signal;

/** A queue with a mocked clock. */
function queueOf(t: TestContext, options: Partial<WorkQueueOptions> = {}) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let time = 0;
  const queue = new WorkQueue({ name: 'rooms', now: () => time, random: () => 0, ...options });
  t.after(() => queue.close());
  const pass = (ms: number) => {
    time += ms;
    t.mock.timers.tick(ms);
  };
  return { queue, pass };
}

/** Takes and finishes every key that is ready. */
async function drain(queue: WorkQueue): Promise<string[]> {
  const keys: string[] = [];
  while (queue.depth > 0) {
    const key = await queue.take(never);
    if (key === undefined) break;
    keys.push(key);
    queue.done(key);
  }
  return keys;
}

describe('A work queue', () => {
  it('returns a key once however often it was added', async (t) => {
    const { queue } = queueOf(t);
    for (let i = 0; i < 50; i++) for (const key of ['a', 'b']) queue.add(key);
    assert.deepEqual(await drain(queue), ['a', 'b']);
  });

  it('returns a key again that was added during its processing, but only after that is done', async (t) => {
    const { queue } = queueOf(t);
    queue.add('a');
    assert.equal(await queue.take(never), 'a');
    queue.add('a');
    queue.add('a');
    assert.equal(queue.depth, 0);
    queue.done('a');
    assert.deepEqual(await drain(queue), ['a']);
  });

  it('passes a key to a waiting worker', async (t) => {
    const { queue } = queueOf(t);
    const taken = [queue.take(never), queue.take(never)];
    queue.add('a');
    queue.add('b');
    assert.deepEqual(await Promise.all(taken), ['a', 'b']);
  });

  it('never gives one key to two workers, in any order of operations', async () => {
    const queue = new WorkQueue({ name: 'rooms' });
    const busy = new Set<string>();
    const done: string[] = [];
    const work = async () => {
      for (let key = await queue.take(never); key !== undefined; key = await queue.take(never)) {
        assert.ok(!busy.has(key), `${key} is processed concurrently`);
        busy.add(key);
        await turns();
        busy.delete(key);
        done.push(key);
        queue.done(key);
      }
    };
    const workers = Array.from({ length: 5 }, work);
    for (let i = 0; i < 200; i++) {
      queue.add(`key-${i % 7}`);
      if (i % 3 === 0) await turns();
    }
    await eventually('all keys are done', () => queue.depth === 0 && queue.workTimes().length === 0, { every: 2 });
    queue.close();
    await Promise.all(workers);
    assert.equal(new Set(done).size, 7);
  });

  it('prefers keys of high priority without starving others', async (t) => {
    const { queue } = queueOf(t);
    queue.add('normal-1');
    queue.add('normal-2');
    for (let i = 0; i < 10; i++) queue.add(`high-${i}`, 'high');
    const keys = await drain(queue);
    assert.deepEqual(keys.slice(0, 8), ['high-0', 'high-1', 'high-2', 'high-3', 'high-4', 'high-5', 'high-6', 'high-7']);
    assert.equal(keys[8], 'normal-1');
    assert.deepEqual(keys.slice(9), ['high-8', 'high-9', 'normal-2']);
  });

  it('keeps the higher priority of a queued key', async (t) => {
    const { queue } = queueOf(t);
    for (const key of ['a', 'b', 'c']) queue.add(key);
    queue.add('c', 'high');
    queue.add('c');
    assert.deepEqual(await drain(queue), ['c', 'a', 'b']);
  });

  it('increases the backoff of a key up to a limit, and resets it after a success', (t) => {
    const { queue } = queueOf(t, { baseMs: 5, capMs: 300_000 });
    const waits = Array.from({ length: 18 }, () => queue.addRateLimited('a'));
    assert.deepEqual(waits.slice(0, 5), [5, 10, 20, 40, 80]);
    assert.equal(waits.at(-1), 300_000);
    queue.forget('a');
    assert.equal(queue.addRateLimited('a'), 5);
  });

  it('adds jitter of a quarter to the backoff, and respects a minimum delay', (t) => {
    const { queue } = queueOf(t, { baseMs: 1000, random: () => 1 });
    assert.equal(queue.addRateLimited('a'), 750);
    assert.equal(queue.addRateLimited('b', 'normal', 30_000), 30_000);
  });

  it('returns a delayed key at the earliest of its times', async (t) => {
    const { queue, pass } = queueOf(t);
    queue.addAfter('a', 60_000);
    queue.addAfter('a', 1000);
    queue.addAfter('a', 5000);
    pass(999);
    assert.equal(queue.depth, 0);
    pass(1);
    assert.deepEqual(await drain(queue), ['a']);
    pass(120_000);
    assert.deepEqual(await drain(queue), []);
  });

  it('supports delays beyond the maximum of a timer', async (t) => {
    const { queue, pass } = queueOf(t);
    const month = 30 * 24 * 3_600_000;
    queue.addAfter('a', month);
    pass(2 ** 31 - 1);
    assert.equal(queue.depth, 0);
    pass(month - (2 ** 31 - 1));
    assert.deepEqual(await drain(queue), ['a']);
  });

  it('rejects and reports keys beyond its limit', (t) => {
    let refused = 0;
    const nothing = () => {};
    const metrics = {
      queueCreated: nothing,
      queueAdded: nothing,
      queueRetried: nothing,
      queueTaken: nothing,
      queueDone: nothing,
      queueRefused: () => refused++,
    };
    const { queue } = queueOf(t, { limit: 3, metrics });
    for (let i = 0; i < 5; i++) queue.add(`key-${i}`);
    for (let i = 0; i < 5; i++) queue.addAfter(`later-${i}`, 1000);
    assert.deepEqual([queue.depth, queue.delayed, refused], [3, 3, 4]);
  });

  it('reports queue time and processing time of a key', async (t) => {
    const calls: [string, number][] = [];
    const metrics = {
      queueCreated: () => {},
      queueAdded: () => calls.push(['added', 0]),
      queueRetried: () => calls.push(['retried', 0]),
      queueTaken: (_name: string, ms: number) => calls.push(['taken', ms]),
      queueDone: (_name: string, ms: number) => calls.push(['done', ms]),
      queueRefused: () => calls.push(['refused', 0]),
    };
    const { queue, pass } = queueOf(t, { metrics });
    queue.add('a');
    pass(30);
    await queue.take(never);
    pass(12);
    assert.deepEqual(queue.workTimes(), [12]);
    queue.done('a');
    assert.deepEqual(calls, [
      ['added', 0],
      ['taken', 30],
      ['done', 12],
    ]);
  });

  it('returns no key after it is closed or the caller has aborted', async (t) => {
    const { queue } = queueOf(t);
    const aborted = new AbortController();
    const waiting = queue.take(aborted.signal);
    aborted.abort();
    assert.equal(await waiting, undefined);
    const other = queue.take(never);
    queue.close();
    assert.equal(await other, undefined);
    queue.add('a');
    queue.addAfter('b', 10);
    assert.deepEqual([queue.depth, queue.delayed, await queue.take(never)], [0, 0, undefined]);
  });
});
