// Last lines of a node: shown with a failed test only, bounded, and without requests that succeeded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LastLines } from '../../kit/last-lines.ts';

async function shownBy(passed: boolean, lines: readonly string[]): Promise<string[]> {
  const shown: string[] = [];
  const ends: (() => Promise<void>)[] = [];
  const scope = { passed, after: (end: () => Promise<void>) => void ends.push(end), diagnostic: (line: string) => void shown.push(line) };
  const last = new LastLines();
  last.showIfFailed(scope);
  for (const line of lines) last.add(line);
  for (const end of ends) await end();
  return shown;
}

test('the last lines of a node are shown with a failed test only, without requests that succeeded', async () => {
  const request = (status: number) => `{"level":"debug","status":${status},"ms":1,"msg":"request completed"}`;
  const lines = [...Array.from({ length: 50 }, (_, index) => `line ${index}`), request(200), request(204), request(503), 'x'.repeat(1000)];
  const shown = await shownBy(false, lines);
  assert.equal(shown.length, 40);
  assert.deepEqual(shown.slice(-3), ['line 49', request(503), 'x'.repeat(400)]);
  assert.deepEqual(await shownBy(true, lines), []);
});

test('a file that shares a node has no lines to show', async () => {
  const ends: (() => Promise<void>)[] = [];
  const last = new LastLines();
  last.showIfFailed({ after: (end) => void ends.push(end) });
  last.add('line');
  assert.equal(ends.length, 1);
  for (const end of ends) await end();
});
