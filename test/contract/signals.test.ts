// Signals that come while a node starts: it ends in order as soon as it can.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import '../kit/worker-bin.ts';

test('a signal that comes before the node has started ends it in order, with code 0', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'mediarooms-test-'));
  const env = { ...process.env, SVC_PORT: '0', SVC_METRICS_PORT: '0', SVC_RESOURCES_BASE_PATH: folder };
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../node/main.ts')], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    if (line.includes('configuration')) child.kill('SIGTERM');
  });
  const [code] = (await once(child, 'close')) as [number | null];
  assert.equal(code, 0, lines.join('\n'));
  assert.ok(lines.findIndex((line) => line.includes('ending')) < lines.findIndex((line) => line.includes('node ended')), lines.join('\n'));
});
