// Signals: a node shuts down properly, even during its start or with a long drain timeout.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import '../kit/processes/worker-bin.ts';

/** Starts a node and sends it SIGTERM after a log line with the text. Resolves with its exit code. */
async function endedBy(t: TestContext, words: string, settings: NodeJS.ProcessEnv = {}): Promise<{ code: number | null; lines: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'mediarooms-test-'));
  const env = { ...process.env, SVC_PORT: '0', SVC_METRICS_PORT: '0', SVC_RESOURCES_BASE_PATH: folder, ...settings };
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../node/main.ts')], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    // Once, because a second signal would end it immediately.
    if (line.includes(words) && !lines.some((each) => each.includes(words))) child.kill('SIGTERM');
    lines.push(line);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, lines };
}

test('a signal before the end of the start shuts the node down with code 0', async (t) => {
  const { code, lines } = await endedBy(t, 'configuration');
  assert.equal(code, 0, lines.join('\n'));
  // Its configuration contains the word pending too.
  const [ending, ended] = [': shutting down', ': node ended'].map((words) => lines.findIndex((line) => line.includes(words)));
  assert.ok(ending !== undefined && ended !== undefined && ending >= 0 && ending < ended, lines.join('\n'));
});

test('a node with the maximum drain timeout shuts down properly too', async (t) => {
  const { code, lines } = await endedBy(t, 'node started', { SVC_DRAIN_TIMEOUT: '2147483' });
  assert.equal(code, 0, lines.join('\n'));
});
