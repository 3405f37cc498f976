// Unified diffs of texts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyPatch } from 'diff';
import { unifiedDiff } from '../../../../operator/dry-run/unified-diff.ts';
import { assertPrompt, stopwatch } from '../../../kit/promised-time.ts';

const names = { before: 'old', after: 'new' };

test('equal texts have an empty diff', () => {
  assert.equal(unifiedDiff(names, 'a\nb\n', 'a\nb\n'), '');
  assert.equal(unifiedDiff(names, '', ''), '');
});

test('a change is shown with three lines of context and its position', () => {
  const before = Array.from({ length: 20 }, (_, index) => `line ${index + 1}\n`).join('');
  const shown = unifiedDiff(names, before, before.replace('line 10\n', 'line ten\n'));
  const around = [' line 7', ' line 8', ' line 9', '-line 10', '+line ten', ' line 11', ' line 12', ' line 13'];
  assert.equal(shown, ['--- old', '+++ new', '@@ -7,7 +7,7 @@', ...around, ''].join('\n'));
});

test('a new text has only added lines, and a deleted text only removed lines', () => {
  assert.equal(unifiedDiff(names, '', 'a\nb\n'), '--- old\n+++ new\n@@ -0,0 +1,2 @@\n+a\n+b\n');
  assert.equal(unifiedDiff(names, 'a\n', ''), '--- old\n+++ new\n@@ -1,1 +0,0 @@\n-a\n');
});

test('patching the old text with any diff gives the new text', () => {
  const [old, fresh] = ['old', 'new'].map((word) => Array.from({ length: 2_000 }, (_, index) => `${word} ${index}\n`).join(''));
  for (const texts of [
    ['', fresh],
    [old, ''],
    [old, fresh],
    ['a\nb\nc\n', 'c\na\nd\n'],
  ]) {
    const [before = '', after = ''] = texts;
    assert.equal(applyPatch(before, unifiedDiff(names, before, after)), after);
  }
});

test('texts without common lines are shown as replaced without a long search', () => {
  const lines = (word: string) => Array.from({ length: 20_000 }, (_, index) => `${word} ${index}\n`).join('');
  const elapsed = stopwatch();
  const shown = unifiedDiff(names, lines('old'), lines('new')).split('\n');
  assert.equal(shown.filter((line) => /^-old/.test(line)).length, 20_000);
  // A second; comparing all pairs of lines would take minutes.
  assertPrompt('the comparison', elapsed(), { promised: 1_000, bound: 20_000 });
});
