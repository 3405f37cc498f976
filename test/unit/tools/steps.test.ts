// Setup steps: output, timeouts and signals of programs; the lock between two setups; stamps of sources.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { sourcesStamp } from '../../../tools/builds.mjs';
import { withLock } from '../../../tools/lock.mjs';
import { root } from '../../../tools/paths.mjs';
import { run, SetupError } from '../../../tools/steps.mjs';
import { tempFolder } from '../../kit/temp-folder.ts';
import { turns } from '../../kit/turns.ts';

test('run returns the exit code, the output and each line of a program', async () => {
  const lines: string[] = [];
  const result = await run('sh', ['-c', 'echo one; echo two >&2; exit 3'], { onLine: (line) => lines.push(line) });
  assert.equal(result.code, 3);
  assert.deepEqual(lines.sort(), ['one', 'two']);
  assert.equal(result.timedOut, false);
});

test('a missing program has exit code 127, as in a shell', async () => {
  const { code, output } = await run('mediarooms-no-such-program', []);
  assert.equal(code, 127);
  assert.match(output, /ENOENT/);
});

test('a program is killed after its timeout', async () => {
  const { timedOut } = await run('sleep', ['60'], { deadline: 50 });
  assert.equal(timedOut, true);
});

test('SIGTERM is forwarded once to the program in the foreground, and its exit code is passed on', async () => {
  const steps = JSON.stringify(join(root, 'tools', 'steps.mjs'));
  const child = `process.on('SIGTERM', () => { console.log('ending'); setTimeout(() => process.exit(7), 50); }); console.log('ready'); setInterval(() => {}, 1000);`;
  const parent = `import { runInForeground } from ${steps}; const { code } = await runInForeground(process.execPath, ['-e', ${JSON.stringify(child)}], process.env); process.exitCode = code;`;
  const process_ = spawn(process.execPath, ['--input-type=module', '-e', parent], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  process_.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    if (output === 'ready\n') {
      process_.kill('SIGTERM');
      process_.kill('SIGTERM');
    }
  });
  const [code] = await once(process_, 'close');
  assert.equal(code, 7);
  assert.equal(output, 'ready\nending\n');
});

test('two owners of the same lock run one after the other', async (t) => {
  const lock = join(tempFolder(t), 'locks', 'one');
  const order: string[] = [];
  const first = withLock(lock, async () => {
    order.push('first in');
    await turns();
    order.push('first out');
  });
  const second = withLock(lock, async () => order.push('second'), { poll: 1 });
  await Promise.all([first, second]);
  assert.deepEqual(order, ['first in', 'first out', 'second']);
  assert.equal(existsSync(lock), false);
});

test('the lock of a dead owner is taken over, and failing work releases it', async (t) => {
  const lock = join(tempFolder(t), 'one');
  mkdirSync(lock);
  const longAgo = new Date(Date.now() - 60_000);
  utimesSync(lock, longAgo, longAgo);
  await assert.rejects(
    withLock(lock, () => Promise.reject(new Error('no'))),
    /^Error: no$/,
  );
  assert.equal(existsSync(lock), false);
});

test('waiting for a lock times out with the command that fixes it', async (t) => {
  const lock = join(tempFolder(t), 'one');
  mkdirSync(lock);
  await assert.rejects(
    withLock(lock, () => Promise.resolve(), { poll: 1, deadline: 5 }),
    (error) => error instanceof SetupError && error.remedy === `stop it, or: rm -r ${lock}`,
  );
});

test('the stamp of sources changes with content and names, but not with build output', (t) => {
  const folder = tempFolder(t);
  mkdirSync(join(folder, 'console', 'dist'), { recursive: true });
  const write = (name: string, text: string) => writeFileSync(join(folder, 'console', name), text);
  const stamp = () => sourcesStamp(folder, ['console', 'absent.json']);
  write('main.tsx', 'a');
  const before = stamp();
  write('dist/main.js', 'built');
  assert.equal(stamp(), before);
  write('main.tsx', 'b');
  const after = stamp();
  assert.notEqual(after, before);
  write('other.tsx', '');
  assert.notEqual(stamp(), after);
});
