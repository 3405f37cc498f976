// No test waits with a loop of its own or decides by the clock: eventually() waits, assertPrompt() judges time where it is the feature.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceFiles } from './source-files.ts';

const now = String.raw`\b(?:Date|performance)\.now\(\)`;
const pause = String.raw`await (?:(?:sleep|wait|delay|pause|setTimeout)\(|new Promise(?:<void>)?\(\(\w+\) => setTimeout\()`;

const rules: Record<string, RegExp> = {
  'compares the clock with an end: wait with eventually(), or go on for a while with keepDoing() (test/kit)': new RegExp(
    `${now}(?: - [\\w.]+)? [<>]|(?<!=)[<>]=? ${now}`,
  ),
  'asks again and again: eventually() does (test/kit)': new RegExp(String.raw`\b(?:while|for) \(.*(?:\) ${pause}|; ${pause}.*\)\) )`),
  'judges how long something took: assertPrompt() names the promise, and its bound is five times that (test/kit)':
    /assert\.ok\([^;]*\b(?:took|elapsed\(\)|passed|lasted|waited) <[^;]*\)/,
};

/** With the reason. A bench is about time as a whole. */
const named: Record<string, string> = {
  'test/kit/eventually.ts': 'it is the wait',
  'test/kit/pace.ts': 'what goes on for a while or on a schedule does so here',
  'test/kit/promised-time.ts': 'it is the judgement',
  'test/kit/client-page.ts': 'a page gives up a picture that does not come: its code cannot import the kit',
  'test/browser/console-kit.ts': 'a page listens for a while: its code is text',
  'test/browser/guest.test.ts': 'a page looks at a meter for a while: its code is text',
};

function strays(path: string, text: string): string[] {
  const lines = text.split('\n');
  return Object.entries(rules).flatMap(([rule, pattern]) =>
    lines.flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1} ${rule}: ${line.trim()}`] : [])),
  );
}

const files = sourceFiles(['test']).filter(({ path }) => !path.startsWith('test/bench/') && !path.startsWith('test/house/'));

test('no test has a deadline loop of its own, or a bound of elapsed time that nobody promised', () => {
  assert.deepEqual(
    files.filter(({ path }) => !(path in named)).flatMap(({ path, text }) => strays(path, text)),
    [],
  );
});

test('each file that may compare the clock still does', () => {
  const clean = Object.keys(named).filter((name) => {
    const file = files.find(({ path }) => path === name);
    return file === undefined || strays(name, file.text).length === 0;
  });
  assert.deepEqual(clean, []);
});

test('what has been written so far is what is refused', () => {
  for (const line of [
    "for (const end = Date.now() + 60_000; !(await holds()); await sleep(50)) assert.ok(Date.now() < end, 'no');",
    'while (!holds() && performance.now() < deadline) await look();',
    'if (performance.now() - started > patience) throw new Error(what);',
    'while (!(await there())) await new Promise((resolve) => setTimeout(resolve, 10));',
    'while (count < 3) await sleep(20);',
    'assert.ok(performance.now() - began < 5_000);',
    'assert.ok(took > 100 && took < 15_000);',
  ])
    assert.notDeepEqual(strays('x', line), [], line);
  for (const line of ['const since = () => performance.now();', 'assert.ok(took > 2_500);', 'const later = Date.now() + 1_000 * hours;'])
    assert.deepEqual(strays('x', line), [], line);
});
