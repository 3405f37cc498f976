// Poller: one request at a time, backoff after failures, paused while the page is hidden, stopped by close().
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Polled, Poller } from '../../../packages/console/src/hooks/poller.ts';
import { turns } from '../../kit/turns.ts';

/** A poller with manual responses and timers. */
function start(t: TestContext, every = 1_000) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const questions: { answer: (value: number) => void; fail: () => void; signal: AbortSignal }[] = [];
  const told: Polled<number>[] = [];
  const listeners = new Set<() => void>();
  const look = { hidden: false };
  const poller = new Poller<number>({
    load: (signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      questions.push({ answer: resolve, fail: () => reject(new Error('refused')), signal });
      return promise;
    },
    every,
    onChange: (state) => told.push(state),
    isHidden: () => look.hidden,
    onVisibility: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  });
  t.after(() => poller.close());
  const pass = async (milliseconds: number) => {
    await turns();
    t.mock.timers.tick(milliseconds);
    await turns();
  };
  const show = (hidden: boolean) => {
    look.hidden = hidden;
    for (const listener of listeners) listener();
  };
  return { poller, questions, told, pass, show, listeners };
}

test('the next request is sent a delay after the response, never concurrently', async (t) => {
  const { poller, questions, told, pass } = start(t);
  assert.equal(questions.length, 1);
  await pass(60_000);
  assert.equal(questions.length, 1, 'the first request is pending');
  void poller.refresh();
  void poller.refresh();
  assert.equal(questions.length, 1);
  questions[0]?.answer(1);
  await turns();
  assert.equal(questions.length, 2, 'refreshes during a request are combined');
  questions[1]?.answer(2);
  await pass(500);
  assert.equal(questions.length, 2);
  await pass(1_000);
  assert.equal(questions.length, 3);
  assert.deepEqual(told, [
    { data: 1, error: undefined },
    { data: 2, error: undefined },
  ]);
});

test('data is kept while requests fail, and the delay grows up to half a minute', async (t) => {
  const { questions, told, pass } = start(t);
  questions[0]?.answer(1);
  await pass(1_200);
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
  assert.equal(told.at(-1)?.data, 1);
  assert.match(String(told.at(-1)?.error), /refused/);
  questions.at(-1)?.answer(2);
  await pass(1_200);
  assert.deepEqual(told.at(-1), { data: 2, error: undefined });
  assert.equal(questions.length, 11, 'after a success the delay is reset');
});

test('no request is sent while the page is hidden, and one immediately when it is visible again', async (t) => {
  const { questions, pass, show } = start(t);
  questions[0]?.answer(1);
  await turns();
  show(true);
  await pass(600_000);
  assert.equal(questions.length, 1);
  show(false);
  await turns();
  assert.equal(questions.length, 2);
  show(true);
  show(false);
  assert.equal(questions.length, 2, 'no concurrent request');
});

test('close() stops requests and reports, and aborts the pending request', async (t) => {
  const { poller, questions, told, pass, listeners } = start(t);
  poller.close();
  poller.close();
  assert.equal(questions[0]?.signal.aborted, true);
  questions[0]?.answer(1);
  await pass(60_000);
  void poller.refresh();
  assert.deepEqual([questions.length, told.length, listeners.size], [1, 0, 0]);
});
