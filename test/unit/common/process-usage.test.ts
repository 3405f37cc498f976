// Process usage from /proc.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { cpuSeconds, processUsage } from '../../../node/common/process-usage.ts';

test('CPU time is parsed after any process name', () => {
  const stat = '42 (a) R 1 (b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 1 0 1 1 1\n';
  assert.equal(cpuSeconds(stat), 2);
});

test('a process that has ended or never existed has no usage', async () => {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  await once(child, 'exit');
  assert.equal(await processUsage(child.pid ?? 0), undefined);
  assert.equal(cpuSeconds('42 (x) Z'), undefined);
  assert.equal(await processUsage(2 ** 22 + 1), undefined);
});

test('this process has memory', async () => {
  const usage = await processUsage(process.pid);
  assert.ok(usage && usage.memory > 1_000_000 && usage.cpu > 0);
});
