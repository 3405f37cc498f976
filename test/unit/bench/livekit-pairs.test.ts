// Pairs of the comparison with LiveKit: order, which pairs count, and their results.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LivekitCase, livekitCases, objectionTo, type Sample, type Side } from '../../bench/livekit/cases.ts';
import { rowsOf, runPairs } from '../../bench/livekit/pairs.ts';

const quiet: Sample = { other_cpu: 0.1, stolen_cpu: 0, rate: 5 };
const example: LivekitCase = {
  name: 'example',
  title: 'Example',
  load: ['media', '-receivers', '50'],
  quick: ['-receivers', '3'],
  rows: [{ field: 'rate', what: 'rate', unit: '/s', goal: '2x' }],
  isValid: ({ failed }) => failed !== 1,
  timeoutMs: 1_000,
};

/** Measures with these samples in turn; an error is thrown. */
function fixture(samples: readonly (Sample | Error)[]) {
  const measured: Side[] = [];
  const loads: (readonly string[])[] = [];
  const notes: string[] = [];
  let waits = 0;
  const deps = {
    measure: async (side: Side, load: readonly string[]) => {
      const sample = samples[measured.push(side) - 1] ?? quiet;
      loads.push(load);
      if (sample instanceof Error) throw sample;
      return sample;
    },
    quiet: async () => (waits += 1),
    note: (line: string) => void notes.push(line),
  };
  return { deps, measured, loads, notes, waits: () => waits };
}

test('the order of the servers alternates, and each waits for a quiet machine', async () => {
  const { deps, measured, loads, waits } = fixture([]);
  const pairs = await runPairs(example, deps, { wanted: 2, force: false, quick: false });
  assert.equal(pairs.length, 2);
  assert.deepEqual(measured, ['livekit', 'mediarooms', 'mediarooms', 'livekit']);
  assert.deepEqual(loads[0], example.load);
  assert.equal(waits(), 4);
});

test('a pair counts if both servers were measured on a quiet machine', async () => {
  const noisy: Sample = { ...quiet, other_cpu: 0.5 };
  const { deps, notes } = fixture([quiet, noisy, new Error('timeout'), quiet]);
  const pairs = await runPairs(example, deps, { wanted: 2, force: false, quick: false });
  assert.equal(pairs.length, 2);
  assert.ok(notes.includes('example: mediarooms: other programs used 0.50 cores'), notes.join('\n'));
  assert.ok(notes.includes('example: mediarooms failed: timeout'), notes.join('\n'));
});

test('twice the wanted number of pairs is measured at most', async () => {
  const { deps, measured } = fixture(Array.from({ length: 20 }, () => ({ ...quiet, stolen_cpu: 0.2 })));
  assert.deepEqual(await runPairs(example, deps, { wanted: 2, force: false, quick: false }), []);
  assert.equal(measured.length, 8);
});

test('every pair counts if it is forced, and a quick run replaces flags of the load', async () => {
  const { deps, loads, waits } = fixture([{ ...quiet, other_cpu: 2 }]);
  assert.equal((await runPairs(example, deps, { wanted: 1, force: true, quick: true })).length, 1);
  assert.deepEqual(loads[0], ['media', '-receivers', '50', '-receivers', '3']);
  assert.equal(waits(), 0);
});

test('a sample without load of the machine, or with another limit than the server, does not count', () => {
  assert.equal(objectionTo(quiet, example), undefined);
  assert.match(objectionTo({}, example) ?? '', /other programs used NaN/);
  assert.match(objectionTo({ ...quiet, failed: 1 }, example) ?? '', /ended with 1 failures/);
  const capacity = livekitCases.find(({ name }) => name === 'capacity') ?? assert.fail();
  assert.equal(objectionTo({ ...quiet, limit: 'loss' }, capacity), undefined);
  assert.match(objectionTo({ ...quiet, limit: 'generator' }, capacity) ?? '', /ended with generator/);
});

test('a row has the values of all pairs of both servers', () => {
  const pairs = [1, 2].map((value) => ({ mediarooms: { rate: value }, livekit: { rate: value * 10 } }));
  assert.deepEqual(rowsOf(example, pairs), [
    { what: 'Example: rate', value: [1, 2], unit: '/s', baseline: { what: 'LiveKit', value: [10, 20] }, goal: '2x' },
  ]);
});

test('names of cases and of their results are unique', () => {
  const names = livekitCases.map(({ name }) => name);
  const results = livekitCases.flatMap((each) => rowsOf(each, []).map(({ what }) => what));
  assert.deepEqual([[...new Set(names)], [...new Set(results)]], [names, results]);
});
