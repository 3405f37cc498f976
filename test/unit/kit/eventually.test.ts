// eventually(): polls at once, on events and at intervals, reports the last value, and leaves no timers.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { emits, eventually } from '../../kit/eventually.ts';
import { turns } from '../../kit/turns.ts';

/** Active timers: a wait must leave none. */
const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

test('a condition that already holds returns at once, without a timer', async () => {
  const before = timers();
  assert.equal(await eventually('it exists', () => 'found', { every: 3_600_000, within: 3_600_000 }), 'found');
  assert.equal(timers(), before);
});

test('eventually polls until the value is truthy', async () => {
  const answers = [undefined, 0, '', false, null, { phase: 'Running' }];
  assert.deepEqual(await eventually('it runs', async () => answers.shift(), { every: 1 }), { phase: 'Running' });
  assert.deepEqual(answers, []);
});

test('an event triggers a poll before the next interval', async () => {
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

test('an event during a poll triggers another poll', async () => {
  const source = new EventEmitter();
  let holds = false;
  const check = async () => {
    const answer = holds;
    holds = true;
    source.emit('change');
    return answer;
  };
  assert.equal(await eventually('it holds', check, { every: 3_600_000, wakes: emits(source, 'change') }), true);
});

test('a timeout reports the condition, the duration and the last value', async () => {
  const source = new EventEmitter();
  const before = timers();
  const wait = (what: string | (() => Promise<string>), answer: unknown) =>
    eventually(what, () => answer, { within: 5, every: 1, wakes: emits(source, 'change') });
  await assert.rejects(wait('the room exists', 0), {
    code: 'ERR_ASSERTION',
    message: 'the room exists: not within 5 ms; last result: 0',
  });
  await assert.rejects(
    wait(async () => 'created at the end', undefined),
    { message: /^created at the end: not within 5 ms; .*undefined$/ },
  );
  assert.equal(source.listenerCount('change'), 0);
  assert.equal(timers(), before);
});

test('a poll that never returns fails after the timeout', async () => {
  await assert.rejects(
    eventually('it answers', () => new Promise(() => {}), { within: 5 }),
    /it answers: not within 5 ms; .*did not finish/,
  );
});

test('an error thrown by a poll ends the wait', async () => {
  const source = new EventEmitter();
  const check = async () => assert.fail('it crashed');
  await assert.rejects(eventually('it runs', check, { wakes: emits(source, 'change') }), { message: 'it crashed' });
  assert.equal(source.listenerCount('change'), 0);
});

test('eventually works with mocked timers', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
  let looks = 0;
  assert.equal(await eventually('the third', () => ++looks === 3, { every: 1 }), true);
});
