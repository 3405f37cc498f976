// Test scheduler: which files run in parallel, and the critical path of a run.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { LoadWatch } from '../../../tools/test-runner/machine/load-watch.mjs';
import { criticalPath, nextJob, runJobs } from '../../../tools/test-runner/schedule.mjs';
import { fieldsOf } from '../../kit/fields.ts';
import { turns } from '../../kit/turns.ts';

const job = (name: string, cores: number, programs?: Promise<unknown>) => ({ name, cores, ...(programs ? { programs } : {}) });
const never = () => assert.fail('all programs can be installed');

test('the next job is the first one in order that fits the free cores', () => {
  const [heavy, light] = [job('heavy', 1.2), job('light', 0.4)];
  assert.equal(nextJob([heavy, light], [], 2), heavy);
  assert.equal(nextJob([heavy, light], [job('other', 1.2)], 2), light);
  assert.equal(nextJob([heavy, light], [job('other', 1.2), job('third', 0.6)], 2), undefined);
  // Three times 0.2 is more than 0.6.
  assert.equal(nextJob([job('last', 0.4)], [job('a', 0.2), job('b', 0.2), job('c', 0.2)], 1)?.name, 'last');
});

test('light jobs leave room for the next heavy one', () => {
  const [heavy, light] = [job('heavy', 1.2), job('light', 0.4)];
  const busy = [job('a', 0.4), job('b', 0.4)];
  assert.equal(nextJob([light], busy, 2), light);
  assert.equal(nextJob([heavy, light], [...busy, job('c', 0.4)], 2), undefined);
  assert.equal(nextJob([job('half', 1), light], [...busy, job('c', 0.4)], 2), undefined);
  assert.equal(nextJob([light, heavy], busy, 2), heavy);
  assert.equal(nextJob([heavy, light], [job('other', 1.2)], 2), light);
  // When the other one ends, the next one would not fit.
  assert.equal(nextJob([job('next', 1.5), light], [job('other', 1), job('a', 0.2)], 2), undefined);
  assert.equal(nextJob([job('next', 1.5), job('half', 1)], [job('other', 1)], 2), undefined);
});

test('a job that needs more cores than the machine has runs alone', () => {
  const big = job('big', 3);
  assert.equal(nextJob([big], [], 2), big);
  assert.equal(nextJob([big], [job('light', 0.1)], 2), undefined);
  assert.equal(nextJob([job('light', 0.1)], [big], 2), undefined);
});

test('all jobs run, and never need more cores than the machine has', async () => {
  let [running, most] = [0, 0];
  const jobs = Array.from({ length: 9 }, (_, index) => job(`${index}`, 0.5));
  const done = await runJobs(
    jobs,
    2,
    async ({ name }) => {
      running += 1;
      most = Math.max(most, running);
      await turns();
      running -= 1;
      return name;
    },
    never,
  );
  assert.equal(most, 4);
  assert.deepEqual([...done.values()].map(({ result }) => result).sort(), [...jobs.map(({ name }) => name)]);
});

test('a job waits for its programs, and is reported if they cannot be installed', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const order: string[] = [];
  const unready: string[] = [];
  const lost = Promise.reject(new Error('no network'));
  lost.catch(() => {});
  await runJobs(
    [job('waits', 1, promise), job('lost', 1, lost), job('first', 1)],
    2,
    async ({ name }) => {
      order.push(name);
      if (name === 'first') resolve();
    },
    ({ name }, error) => unready.push(`${name}: ${(error as Error).message}`),
  );
  assert.deepEqual(order, ['first', 'waits']);
  assert.deepEqual(unready, ['lost: no network']);
});

test('an interrupted run starts no more jobs', async () => {
  const begun: string[] = [];
  const run = runJobs(
    [job('a', 1), job('b', 1), job('c', 1)],
    1,
    async ({ name }) => {
      begun.push(name);
      if (name === 'b') throw new Error('interrupted');
    },
    never,
  );
  await assert.rejects(run, /interrupted/);
  assert.deepEqual(begun, ['a', 'b']);
});

test('an overloaded machine gets no further job while half of its cores are reserved', async () => {
  let [running, most, overloaded] = [0, 0, false];
  const jobs = Array.from({ length: 6 }, (_, index) => job(`${index}`, 0.5));
  const work = async () => {
    running += 1;
    most = Math.max(most, running);
    overloaded = running > 1;
    await turns();
    running -= 1;
  };
  const done = await runJobs(jobs, 2, work, never, () => overloaded);
  assert.deepEqual([done.size, most], [6, 2]);
});

test('a machine is overloaded if more than two threads per core run or wait, on average', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let threads = 4;
  const load = new LoadWatch(2, () => threads);
  t.after(() => load.stop());
  assert.equal(load.overloaded, false);
  t.mock.timers.tick(5_000);
  assert.equal(load.overloaded, false);
  threads = 7;
  t.mock.timers.tick(250);
  assert.equal(load.overloaded, true);
  threads = 0;
  t.mock.timers.tick(5_000);
  assert.equal(load.overloaded, false);
});

test('a run without jobs has no results', async () => {
  assert.equal((await runJobs([], 2, async () => {}, never)).size, 0);
});

test('the critical path goes back from the last job to the job that freed its cores', () => {
  const span = (from: number, to: number, after?: string) => ({ span: { from, to, ...(after ? { after } : {}) } });
  const done = new Map([
    [job('a', 1), span(0, 5)],
    [job('b', 1), span(0, 3)],
    [job('c', 1), span(3, 9, 'b')],
    [job('d', 1), span(5, 7, 'a')],
  ]);
  assert.deepEqual(fieldsOf(criticalPath(done), 'name'), ['b', 'c']);
  assert.deepEqual(criticalPath(new Map()), []);
});
