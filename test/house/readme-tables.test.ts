// The tables of the README say what the code does.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventKinds } from '../../node/rooms/events.ts';
import { closeCodes } from '../../node/signaling/close-codes.ts';
import { emptyMetrics } from '../kit/metrics.ts';
import { root } from './source-files.ts';

const readme = readFileSync(join(root, 'README.md'), 'utf8');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string; scripts: Record<string, string> };

/** Cells of the rows of the table that follows a heading. */
function table(heading: string): string[][] {
  const section = readme.split(`\n${heading}\n`)[1]?.split('\n#')[0] ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  );
}

test('every kind of event is in the table of events, in order and in the same words', () => {
  assert.deepEqual(
    table('### Events'),
    Object.entries(eventKinds).map(([kind, when]) => [kind, when.replaceAll('`', '')]),
  );
});

test('every way to close a websocket is in the table of closings', () => {
  const expected = Object.values(closeCodes).map(({ code, reason, description }) => [String(code), reason, description]);
  assert.deepEqual(table('### Closing of websockets'), expected);
});

test('every metric of ours is in the table of metrics, with its own help text', async () => {
  const text = await emptyMetrics().text();
  const helps = [...text.matchAll(/^# HELP (svc_\w+) (.*)$/gm)].map(([, name, help]) => [name, help?.replaceAll('`', '')]);
  assert.ok(helps.length > 20);
  assert.deepEqual(table('### Metrics').sort(), helps.sort());
});

test('every npm script that the documents name exists', () => {
  const named = [...readme.matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name ?? '');
  assert.deepEqual(
    named.filter((name) => !Object.hasOwn(manifest.scripts, name)),
    [],
  );
});

test('README and CHANGELOG speak of the version of package.json', () => {
  assert.ok(readme.includes(`release ${manifest.version}`));
  assert.ok(readFileSync(join(root, 'CHANGELOG.md'), 'utf8').includes(`## ${manifest.version}`));
});

test('the example of the client library is that of its own README', () => {
  const example = /```ts\n[\s\S]*?```/;
  const [own] = example.exec(readFileSync(join(root, 'node/client/README.md'), 'utf8')) ?? [];
  assert.equal(example.exec(readme)?.[0], own);
});
