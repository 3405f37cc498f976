// Captions in a room of the console: the last lines, for the time that reading takes, whatever agents send.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Captions } from '../../../packages/console/src/captions/captions.ts';

const said = (id: string, text: string, speakerId = 'p') => ({ id, text, speakerId });

test('the last three lines are shown until they are read, and a corrected line replaces its former text', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const captions = new Captions();
  assert.deepEqual(captions.state, { on: true, available: false, lines: [] });
  for (const id of ['1', '2', '3', '4']) captions.add(said(id, `line ${id}`), 'Ada');
  captions.add(said('4', 'the last line'), 'Ada');
  const texts = () => captions.state.lines.map(({ text }) => text);
  assert.deepEqual(texts(), ['line 2', 'line 3', 'the last line']);
  t.mock.timers.tick(3_999);
  captions.add(said('1', 'x'.repeat(100), 'q'), 'Bob');
  t.mock.timers.tick(1);
  assert.deepEqual(texts(), ['x'.repeat(100)]);
  t.mock.timers.tick(7_000);
  assert.deepEqual([texts(), captions.state.available], [[], true]);
  captions.toggle();
  assert.equal(captions.state.on, false);
  captions.add(said('9', 'after the end'), 'Ada');
  captions.close();
  t.mock.timers.tick(60_000);
  assert.deepEqual(texts(), ['after the end']);
});

test('a text is one line of bounded length without control characters', () => {
  const captions = new Captions();
  captions.add(said('1', ' \n\u0000'), 'Ada');
  assert.equal(captions.state.available, false);
  captions.add(said('1', 'a\r\n\u202eb\u0007 c'), 'Ada');
  captions.add(said('2', `begin ${'😀'.repeat(500)} end`), 'Ada');
  const [first, second] = captions.state.lines;
  assert.equal(first?.text, 'a b c');
  assert.ok(second && second.text.length <= 240 && second.text.isWellFormed() && /^….* end$/u.test(second.text));
  captions.close();
});
