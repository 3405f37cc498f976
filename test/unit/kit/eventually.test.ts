// The wait of the tests: looks at once, at events and in between, tells what it saw last, and leaves nothing behind.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { emits, eventually } from '../../kit/eventually.ts';
import { turns } from '../../kit/turns.ts';

/** Timers that are set now: nothing of a wait may stay. */
const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

test('what holds is told at once, without a timer', async () => {
  const before = timers();
  assert.equal(await eventually('it is there', () => 'found', { every: 3_600_000, within: 3_600_000 }), 'found');
  assert.equal(timers(), before);
});

test('it looks again until the answer is truthy', async () => {
  const answers = [undefined, 0, '', false, null, { phase: 'Running' }];
  assert.deepEqual(await eventually('it runs', async () => answers.shift(), { every: 1 }), { phase: 'Running' });
  assert.deepEqual(answers, []);
});

test('an event makes it look, long before the next turn', async () => {
  const source = new EventEmitter();
  const before = timers();
  let looks = 0;
  const waiting = eventually('the third', () => ++looks === 3, { every: 3_600_000, wakes: emits(source, 'change') });
  for (let count = 0; count < 2; count += 1) {
    await turns();
    source.emit('change');
  }
  assert.equal(await waiting, true);
  assert.equal(source.listenerCount('change'), 0);
  assert.equal(timers(), before);
});

test('an event during a look makes it look once more', async () => {
  const source = new EventEmitter();
  let holds = false;
  const look = async () => {
    const answer = holds;
    holds = true;
    source.emit('change');
    return answer;
  };
  assert.equal(await eventually('it holds', look, { every: 3_600_000, wakes: emits(source, 'change') }), true);
});

test('a failure says what was waited for, how long, and the last answer', async () => {
  const source = new EventEmitter();
  const before = timers();
  const wait = (what: string | (() => Promise<string>), answer: unknown) =>
    eventually(what, () => answer, { within: 5, every: 1, wakes: emits(source, 'change') });
  await assert.rejects(wait('the room is there', 0), {
    code: 'ERR_ASSERTION',
    message: 'the room is there: not within 5 ms; the last answer was 0',
  });
  await assert.rejects(
    wait(async () => 'made at the end', undefined),
    { message: /^made at the end: not within 5 ms; .*undefined$/ },
  );
  assert.equal(source.listenerCount('change'), 0);
  assert.equal(timers(), before);
});

test('a look that never ends fails in time', async () => {
  await assert.rejects(
    eventually('it answers', () => new Promise(() => {}), { within: 5 }),
    /it answers: not within 5 ms; .*did not end/,
  );
});

test('what a look throws ends the wait', async () => {
  const source = new EventEmitter();
  const look = async () => assert.fail('it crashed');
  await assert.rejects(eventually('it runs', look, { wakes: emits(source, 'change') }), { message: 'it crashed' });
  assert.equal(source.listenerCount('change'), 0);
});

test('a test with mocked timers waits too', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
  let looks = 0;
  assert.equal(await eventually('the third', () => ++looks === 3, { every: 1 }), true);
});
