// Component processes: messages, monitoring, and guaranteed end of the process or of its parent.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { z } from 'zod';
import { ComponentProcess, type ComponentProcessOptions } from '../../../../node/components/process/component-process.ts';
import { maxMessageBytes } from '../../../../node/components/process/limits.ts';
import { findGreedy, memoryLimit } from '../../../../node/components/process/memory-watch.ts';
import { TrackGrowth } from '../../../../node/components/process/track-growth.ts';
import { emits, eventually } from '../../../kit/eventually.ts';
import type { AvChildCommand } from '../../../kit/media/component-process-main.ts';
import { isAlive } from '../../../kit/processes/alive.ts';
import { makeResources } from '../../../kit/processes/resources-folder.ts';
import { recordedLog } from '../../../kit/recorded-log.ts';
import { silentLog } from '../../../kit/silent-log.ts';

const module = join(import.meta.dirname, '../../../kit/media/component-process-main.ts');
const reportSchema = z.strictObject({ text: z.string() });
type Report = z.infer<typeof reportSchema>;

function startChild(t: TestContext, options: Partial<ComponentProcessOptions<Report>> = {}) {
  const exit = Promise.withResolvers<string>();
  const lost = Promise.withResolvers<number[]>();
  const exits: string[] = [];
  let received: Report | undefined;
  const reports = new EventEmitter();
  const child = new ComponentProcess<AvChildCommand, Report>({
    log: silentLog(),
    role: 'compose',
    module,
    reportSchema,
    onReport: (report) => {
      received = report;
      reports.emit('report');
    },
    onExit: (reason, tracks) => {
      exits.push(reason);
      lost.resolve(tracks);
      exit.resolve(reason);
    },
    ...options,
  });
  t.after(() => child.end(1000));
  const ask = async (command: AvChildCommand) => {
    received = undefined;
    child.send(command);
    const report = await eventually(`a response to ${command.type}`, () => received, { wakes: emits(reports, 'report') });
    return report.text;
  };
  return { child, ask, exit: exit.promise, lost: lost.promise, exits };
}

test('a process responds, inherits no environment, exits on request and reports its exit once', async (t) => {
  const { child, ask, exit, exits } = startChild(t);
  assert.equal(await ask({ type: 'echo', text: 'hello' }), 'hello');
  assert.doesNotMatch(await ask({ type: 'environment' }), /PATH|SVC_|HOME/);
  await child.end(5000);
  assert.equal(await exit, 'The process exited with code 0');
  await child.end(5000);
  assert.equal(exits.length, 1);
  child.send({ type: 'echo', text: 'after the end' });
});

test('the tracks in progress are known after a crash, and not blamed if another process killed it', async (t) => {
  const aborted = startChild(t);
  for (const track of [7, 0, 4_294_967_295]) await aborted.ask({ type: 'mark', track });
  aborted.child.send({ type: 'abort' });
  assert.equal(await aborted.exit, 'The process was ended by SIGABRT');
  assert.deepEqual(await aborted.lost, [7, 0, 4_294_967_295]);
  const hanging = startChild(t, { silence: 1500 });
  await hanging.ask({ type: 'mark', track: 3 });
  hanging.child.send({ type: 'hang' });
  assert.deepEqual(await hanging.lost, [3]);
  const idle = startChild(t);
  await idle.ask({ type: 'work', track: 3 });
  idle.child.send({ type: 'abort' });
  assert.deepEqual(await idle.lost, []);
  const killed = startChild(t);
  await killed.ask({ type: 'mark', track: 3 });
  process.kill(killed.child.pid ?? 0, 'SIGKILL');
  assert.equal(await killed.exit, 'The process was ended by SIGKILL');
  assert.deepEqual(await killed.lost, []);
});

test('a process reads only its program and its folders, and has a lower priority', async (t) => {
  const folder = await makeResources(t);
  await writeFile(join(folder, 'own'), 'mine');
  const { ask, child } = startChild(t, { reads: [folder], niceness: 7 });
  const read = (path: string) => ask({ type: 'read', path });
  assert.equal(await read(join(folder, 'own')), 'mine');
  assert.match(await read(module), /connectToParent/);
  for (const path of [`/proc/${process.pid}/environ`, `/proc/${child.pid}/environ`, '/etc/passwd', join(folder, '..', 'other')])
    assert.equal(await read(path), 'ERR_ACCESS_DENIED', path);
  assert.equal(getPriority(child.pid), 7);
});

test('a hanging process is killed', async (t) => {
  const { child, ask, exit } = startChild(t, { silence: 1500 });
  // Until the first heartbeat a process may take as long as a start on a busy computer.
  await ask({ type: 'echo', text: 'up' });
  child.send({ type: 'hang' });
  assert.equal(await exit, 'The process stopped sending heartbeats');
});

test('a process that hangs while it ends is killed at the deadline', async (t) => {
  const { child, ask, exit } = startChild(t);
  await ask({ type: 'echo', text: 'up' });
  child.send({ type: 'hang' });
  await child.end(300);
  assert.equal(await exit, 'The process did not exit in time');
});

test('a process is killed after an invalid report, or above its memory limit', async (t) => {
  const nonsense = startChild(t);
  nonsense.child.send({ type: 'nonsense' });
  assert.equal(await nonsense.exit, 'The process sent an invalid report');
  const greedy = startChild(t, { maxMemory: 300 * 1024 * 1024 });
  await greedy.ask({ type: 'work', track: 2 });
  greedy.child.send({ type: 'allocate', bytes: 400 * 1024 * 1024 });
  assert.equal(await greedy.exit, 'The process exceeded its memory limit');
  assert.deepEqual(await greedy.lost, [2]);
  const silent = startChild(t, { maxMemory: 500 * 1024 * 1024, silence: 60_000 });
  await silent.ask({ type: 'mark', track: 1 });
  silent.child.send({ type: 'swell' });
  assert.equal(await silent.exit, 'The process exceeded its memory limit');
  assert.deepEqual(await silent.lost, [1]);
});

test('the tracks that caused most of the memory growth are identified', () => {
  const growth = new TrackGrowth();
  growth.check(90, []);
  assert.deepEqual(growth.greatest(), []);
  growth.check(100, [1]);
  growth.check(160, [1, 2, 3]);
  assert.deepEqual(growth.greatest(), [1, 2]);
  growth.check(300, [2]);
  assert.deepEqual(growth.greatest(), [2]);
  // Freed memory is subtracted.
  growth.check(30, [2]);
  growth.check(130, [3]);
  assert.deepEqual(growth.greatest(), [3]);
});

test('one process may use half of the container memory, and all together three quarters', () => {
  assert.deepEqual([memoryLimit(1000, 4000), memoryLimit(1000, 1200)], [1000, 600]);
  const [a, b] = [{ limit: 600 }, { limit: 600 }];
  const greedy = (first: number, second: number) =>
    findGreedy(
      new Map([
        [a, first],
        [b, second],
      ]),
      1200,
    );
  assert.deepEqual(greedy(300, 600), []);
  assert.equal(greedy(300, 601)[0], b);
  assert.equal(greedy(500, 450)[0], a);
});

test('an exception and an external signal are reported as exit, and stderr is logged', async (t) => {
  const { log, of } = recordedLog();
  const broken = startChild(t, { log });
  broken.child.send({ type: 'throw' });
  assert.equal(await broken.exit, 'The process exited with code 1');
  assert.ok(of('warn').some(({ line }) => String(line).includes('a requested error')));
  const killed = startChild(t);
  await killed.ask({ type: 'echo', text: 'up' });
  process.kill(killed.child.pid ?? 0, 'SIGKILL');
  assert.equal(await killed.exit, 'The process was ended by SIGKILL');
});

test('signals of a terminal do not end a process', async (t) => {
  const { child, ask } = startChild(t);
  await ask({ type: 'echo', text: 'up' });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.kill(child.pid ?? 0, signal);
  assert.equal(await ask({ type: 'echo', text: 'still here' }), 'still here');
});

test('a too large command is rejected, and a missing module is reported as exit', async (t) => {
  const { child } = startChild(t);
  assert.throws(() => child.send({ type: 'echo', text: 'x'.repeat(maxMessageBytes) }), RangeError);
  assert.equal(await startChild(t, { module: `${module}.none` }).exit, 'The process exited with code 1');
});

test('a process ends with its parent, even if the parent is killed while the process hangs', async (t) => {
  const script = `
    import { ComponentProcess } from ${JSON.stringify(join(import.meta.dirname, '../../../../node/components/process/component-process.ts'))};
    import { z } from 'zod';
    import { pino } from 'pino';
    const child = new ComponentProcess({ log: pino({ level: 'silent' }), role: 'compose', module: ${JSON.stringify(module)}, reportSchema: z.any(), onExit() {},
      onReport() { child.send({ type: 'hang' }); console.log(child.pid); setInterval(() => {}, 1000); } });
    child.send({ type: 'echo', text: 'up' });`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: import.meta.dirname,
  });
  t.after(() => parent.kill('SIGKILL'));
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(String(line));
  assert.ok(isAlive(pid));
  parent.kill('SIGKILL');
  await eventually('the child ends with its parent', () => !isAlive(pid), { every: 20 });
});
