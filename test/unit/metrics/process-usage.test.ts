// What a process takes of the machine, from /proc.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseUsage, processUsage } from '../../../node/metrics/process-usage.ts';

test('CPU time and memory are read behind any name a process may have', () => {
  const stat = '42 (a) R 1 (b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 1 0 1 1 1\n';
  assert.deepEqual(parseUsage(stat, 'Name:\tx\nVmRSS:\t    2048 kB\n'), { cpu: 2, memory: 2048 * 1024 });
});

test('a process that has ended has no usage, nor has one that never was', async () => {
  assert.equal(parseUsage('42 (x) Z 1 2 3 4 5 6 7 8 9 10 1 1 0', 'Name:\tx\n'), undefined);
  assert.equal(await processUsage(2 ** 22 + 1), undefined);
});

test('this process has memory', async () => {
  const usage = await processUsage(process.pid);
  assert.ok(usage && usage.memory > 1_000_000 && usage.cpu > 0);
});
