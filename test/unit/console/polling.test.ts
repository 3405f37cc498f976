// Polling: one request at a time, backoff after failures, paused while the page is hidden, stopped with its last observer.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { environmentManager, focusManager, QueryClient, QueryObserver } from '@tanstack/react-query';
import { pollingOptions, refreshQuery } from '../../../packages/console/src/hooks/use-resource.ts';
import { turns } from '../../kit/turns.ts';

/** A polled query with manual responses and timers. */
function start(t: TestContext, every = 1_000) {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
  environmentManager.setIsServer(() => false);
  focusManager.setFocused(true);
  const questions: { answer: (value: number) => void; fail: () => void; signal: AbortSignal }[] = [];
  const load = (signal: AbortSignal) => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    questions.push({ answer: resolve, fail: () => reject(new Error('refused')), signal });
    return promise;
  };
  const client = new QueryClient();
  client.mount();
  const observer = new QueryObserver(client, pollingOptions(['numbers'], load, every));
  const close = observer.subscribe(() => undefined);
  t.after(() => {
    close();
    client.unmount();
  });
  const pass = async (milliseconds: number) => {
    await turns();
    t.mock.timers.tick(milliseconds);
    await turns();
  };
  const states = () => [observer.getCurrentResult().data, observer.getCurrentResult().failureReason?.message];
  return { questions, states, pass, close, client, refresh: () => void refreshQuery(client, ['numbers']) };
}

test('the next request is sent a delay after the response, never concurrently', async (t) => {
  const { questions, states, pass, refresh } = start(t);
  assert.equal(questions.length, 1);
  await pass(60_000);
  assert.equal(questions.length, 1, 'the first request is pending');
  refresh();
  refresh();
  assert.equal(questions.length, 1);
  questions[0]?.answer(1);
  await pass(0);
  assert.equal(questions.length, 2, 'refreshes during a request are combined');
  assert.deepEqual(states(), [1, undefined]);
  questions[1]?.answer(2);
  await pass(500);
  assert.equal(questions.length, 2);
  assert.deepEqual(states(), [2, undefined]);
  await pass(500);
  assert.equal(questions.length, 3);
});

test('data is kept while requests fail, and the delay grows up to half a minute', async (t) => {
  const { questions, states, pass } = start(t);
  questions[0]?.answer(1);
  await pass(0);
  await pass(1_000);
  const pauses: number[] = [];
  for (let round = 1; round < 9; round += 1) {
    questions[round]?.fail();
    await turns();
    let pause = 0;
    for (; questions.length === round + 1 && pause < 60_000; pause += 250) await pass(250);
    pauses.push(pause);
  }
  assert.ok(
    pauses.every((pause) => pause <= 36_000),
    String(pauses),
  );
  assert.ok((pauses[3] ?? 0) > 2 * (pauses[0] ?? 0) && (pauses.at(-1) ?? 0) >= 26_000, String(pauses));
  assert.deepEqual(states(), [1, 'refused']);
  questions.at(-1)?.answer(2);
  await pass(0);
  assert.deepEqual(states(), [2, undefined]);
  await pass(1_000);
  assert.equal(questions.length, 11, 'after a success the delay is reset');
});

test('a refresh does not wait for the next retry, with data or without', async (t) => {
  const { questions, states, pass, refresh } = start(t);
  for (let round = 0; round < 5; round += 1) {
    questions[round]?.fail();
    await turns();
    refresh();
    await turns();
    assert.equal(questions.length, round + 2);
  }
  questions.at(-1)?.answer(1);
  await pass(0);
  await pass(1_000);
  questions.at(-1)?.fail();
  await turns();
  refresh();
  await turns();
  assert.equal(questions.length, 8);
  assert.equal(states()[0], 1);
});

test('no request is sent while the page is hidden, and one immediately when it is visible again', async (t) => {
  const { questions, pass } = start(t);
  questions[0]?.answer(1);
  await pass(0);
  focusManager.setFocused(false);
  await pass(600_000);
  assert.equal(questions.length, 1);
  focusManager.setFocused(true);
  await turns();
  assert.equal(questions.length, 2);
  focusManager.setFocused(false);
  focusManager.setFocused(true);
  assert.equal(questions.length, 2, 'no concurrent request');
});

test('the last observer stops requests, aborts the pending request and drops the data', async (t) => {
  const { questions, pass, close, client, refresh } = start(t);
  questions[0]?.answer(1);
  await pass(0);
  await pass(1_000);
  assert.equal(questions.length, 2);
  refresh();
  close();
  refresh();
  assert.equal(questions[1]?.signal.aborted, true);
  await pass(60_000);
  assert.deepEqual([questions.length, client.getQueryCache().getAll()], [2, []]);
});
