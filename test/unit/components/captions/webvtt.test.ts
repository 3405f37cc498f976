// WebVTT of captions: valid with any text, and readable.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cueBlock, cuesOf, maxCueDuration, timestamp } from '../../../../node/components/captions/webvtt.ts';

const blocks = (text: string, speaker: string | null = null) =>
  cuesOf({ text, speaker }, 5000).map((cue, index) => cueBlock(cue, index, 0));

test('a text is a cue with the name of its speaker, whatever they contain', () => {
  assert.deepEqual(blocks('Hello'), ['\n0\n00:00:05.000 --> 00:00:06.500\nHello\n']);
  assert.deepEqual(blocks('1 < 2 & 3 > 2\r\n\r\n00:00:00.000 --> 00:01:00.000\u0000\u2028x', 'A<b>&\nB'), [
    '\n0\n00:00:05.000 --> 00:00:07.700\n<v A&lt;b&gt;&amp; B>A&lt;b&gt;&amp; B: 1 &lt; 2 &amp; 3 &gt; 2 00:00:00.000 --&gt; 00:01:00.000 x\n',
  ]);
  assert.deepEqual([blocks(''), blocks(' \n\t ')], [[], []]);
  const [broken = ''] = blocks('\ud800', `${'n'.repeat(63)}😀`);
  assert.ok(broken.isWellFormed());
  assert.match(broken, /<v n{63}\ufffd>n{63}\ufffd: \ufffd\n$/);
});

test('a long text is several cues, one after the other, of whole words that can be read in time', () => {
  const words = Array.from({ length: 200 }, (_, index) => `word${index}`);
  const cues = cuesOf({ text: words.join(' '), speaker: null }, 0);
  assert.deepEqual(
    cues.flatMap(({ text }) => text.split(' ')),
    words,
  );
  for (const [index, { start, end, text }] of cues.entries()) {
    assert.equal(start, index === 0 ? 0 : cues[index - 1]?.end);
    assert.ok(text.length <= 84 && end - start >= 1500 && end - start <= maxCueDuration, text);
  }
  const endless = cuesOf({ text: '😀'.repeat(100), speaker: null }, 0).map(({ text }) => text);
  assert.deepEqual([endless.join(''), endless.every((text) => text.isWellFormed())], ['😀'.repeat(100), true]);
});

test('times have hours, minutes, seconds and milliseconds', () => {
  const hours = 100 * 3_600_000;
  assert.deepEqual([-1, 0.4, 59_999.6, 3_599_999, hours + 1].map(timestamp), [
    '00:00:00.000',
    '00:00:00.000',
    '00:01:00.000',
    '00:59:59.999',
    '100:00:00.001',
  ]);
});
