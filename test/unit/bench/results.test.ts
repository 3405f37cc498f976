// Results of benchmarks: the page is generated from their file, and the summary compares a run with it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BenchResult, Row } from '../../bench/report.ts';
import { mergeResults, readPage, readResults } from '../../bench/results.ts';
import { withResults } from '../../bench/results-page.ts';
import { summaryLines } from '../../bench/summary.ts';

const benchOf = (title: string, ...rows: Row[]): BenchResult => ({
  date: '2026-11-24',
  machine: '2 cores',
  software: 'Node.js 24',
  sections: [{ title, rows }],
});
const marks = readPage().match(/<!--.*-->/g) ?? [];
const page = `# Title\n\n${marks[0]}\nold\n${marks[1]}\n\nEnd\n`;

test('the page of the benchmarks matches the results; otherwise run npm run bench:page', () => {
  const results = readResults();
  assert.ok(Object.keys(results).length > 10);
  // A difference would print both pages.
  assert.ok(withResults(readPage(), results) === readPage());
});

test('each result of a benchmark has a unique name', () => {
  for (const [name, { sections }] of Object.entries(readResults())) {
    const all = sections.flatMap(({ rows }) => rows.map(({ what }) => what));
    assert.deepEqual([...new Set(all)], all, name);
  }
});

test('the generated part has a table with medians, ranges and ratios, and the rest of the page stays', () => {
  const livekit = benchOf('Next to LiveKit', {
    what: 'delay | p99',
    unit: 'ms',
    value: [2, 3, 8],
    baseline: { what: 'LiveKit', value: [4, 4, 4] },
    goal: '0.9x',
  });
  assert.deepEqual(withResults(page, { livekit }).split('\n'), [
    '# Title',
    '',
    marks[0],
    '',
    '### Next to LiveKit',
    '',
    'Measured 2026-11-24 on 2 cores: Node.js 24.',
    '',
    '| what | Mediarooms | LiveKit | ratio | goal |',
    '|---|---|---|---|---|',
    '| delay \\| p99 | 3 (2 to 8) ms | 4 ms | 0.75 (0.5 to 2) | 0.9x |',
    '',
    marks[1],
    '',
    'End',
    '',
  ]);
});

test('a table has no empty columns, and names baselines that differ', () => {
  const plain = benchOf('Plain', { what: 'rate', unit: '/s', value: 5 });
  const mixed = benchOf(
    'Mixed',
    { what: 'rate', unit: '/s', value: 5, baseline: { what: 'a bare server', value: 10 } },
    { what: 'size', unit: '', value: 6, baseline: { what: 'a file', value: 3 } },
    { what: 'age', unit: 's', value: 7 },
  );
  const lines = withResults(page, { plain, mixed }).split('\n');
  assert.ok(lines.includes('| what | result |'));
  assert.deepEqual(
    lines.filter((line) => /^\| (what|rate|size|age) .*\|.*\|.*\|.*\|$/.test(line)),
    [
      '| what | result | baseline | ratio |',
      '| rate | 5 /s | a bare server: 10 /s | 0.5 |',
      '| size | 6 | a file: 3 | 2 |',
      '| age | 7 s | | |',
    ],
  );
});

test('a page without marks is rejected', () => {
  assert.throws(() => withResults('# Title\n', {}), /no marks/);
});

test('measured results replace those of their benchmark, in the order of the benchmarks', () => {
  const [old, now] = [benchOf('Old'), benchOf('Now')];
  const merged = mergeResults({ rest: old, memory: old }, { join: now, memory: now }, ['memory', 'rest', 'join']);
  assert.deepEqual(Object.keys(merged), ['memory', 'rest', 'join']);
  assert.deepEqual([merged.memory, merged.rest, merged.join], [now, old, now]);
});

test('the summary has every committed result, its change, and what was not measured', () => {
  const baseline = (value: number) => ({ what: 'a bare server', value });
  const committed = {
    rest: benchOf(
      'REST',
      { what: 'rate', unit: '/s', value: [900, 1100], baseline: baseline(2000) },
      { what: 'p99', unit: 'ms', value: 4 },
      { what: 'lost', unit: '', value: 0 },
    ),
    join: benchOf('Join', { what: 'first packet', unit: 'ms', value: 70 }),
  };
  const rest = benchOf(
    'REST',
    { what: 'rate', unit: '/s', value: 1500, baseline: baseline(2000) },
    { what: 'lost', unit: '', value: 1 },
    { what: 'median', unit: 'ms', value: 1 },
  );
  assert.deepEqual(summaryLines(committed, { rest }), [
    'rest',
    '  rate: 1,500 /s, was 900 to 1,100 /s (1.5x); of a bare server: 0.75x, was 0.5x',
    '  lost: 1, was 0',
    '  median: 1 ms, new',
    '  p99: not measured in this run',
    'join: not measured in this run (1 results)',
  ]);
});
