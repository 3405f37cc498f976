// LiveKit's agents framework, unmodified: an agent hears the tone of a participant and answers with another one. Run by `npm run agents`,
// because its packages are too large for the tests of every change.
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { accessKey, accessKeysText, signAccessToken } from '../kit/access-tokens.ts';
import { eventually } from '../kit/eventually.ts';
import { makeNamespace, mayMakeNamespaces } from '../kit/network/network-namespace.ts';
import { startNode } from '../kit/processes/start-node.ts';

const requirements = join(import.meta.dirname, 'requirements.txt');
const versions = readFileSync(requirements, 'utf8').match(/^livekit(-agents)?==.*$/gm) ?? [];
const folder = join(homedir(), '.cache/mediarooms', versions.toReversed().join('-').replaceAll('==', '-'));
const python = join(folder, 'bin/python');
const repetitions = 40;
const kindOfAgents = 4;
const run = promisify(execFile);

async function install(): Promise<void> {
  if (existsSync(join(folder, 'installed'))) return;
  await run('python3', ['-m', 'venv', folder]);
  await run(python, ['-m', 'pip', 'install', '--quiet', '--requirement', requirements], { timeout: 1_800_000 });
  await run('touch', [join(folder, 'installed')]);
}

/** A program of this folder in a network namespace, because the native client ignores loopback addresses. */
function start(t: TestContext, namespace: string, program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child: ChildProcess = spawn('ip', ['netns', 'exec', namespace, python, join(import.meta.dirname, program), ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) if (stream) createInterface({ input: stream }).on('line', (line) => lines.push(line));
  const ended = once(child, 'exit');
  t.after(async () => {
    // With the processes of jobs, which are in its group.
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), 'SIGKILL');
    await ended;
  });
  return { lines, ended };
}

const options = { timeout: 2_400_000, skip: mayMakeNamespaces ? false : 'network namespaces need root' };

test('an agent joins, hears a participant and answers, and its job ends with the room', options, async (t) => {
  await install();
  const { name, here } = await makeNamespace(t);
  const env = { SVC_ACCESS_KEYS: accessKeysText, SVC_LIVEKIT_ENABLED: 'true', SVC_IP: here, SVC_WEBRTC_TURN_LISTEN_IP: here };
  const node = await startNode(t, env);
  const url = node.url.replace(/^http/, 'ws');
  const key = { LIVEKIT_URL: url, LIVEKIT_API_KEY: accessKey.id, LIVEKIT_API_SECRET: accessKey.secret };
  const agent = start(t, name, 'agent.py', ['start'], key);
  await eventually(
    () => `the worker registers:\n${agent.lines.join('\n')}`,
    () => agent.lines.some((line) => line.includes('registered worker')),
    {
      within: 300_000,
    },
  );
  const token = await signAccessToken({ identity: 'ada', video: { roomCreate: true }, claims: { roomConfig: { departureTimeout: 1 } } });
  const participant = start(t, name, 'participant.py', [url, token, String(repetitions)]);
  const [code] = await participant.ended;
  assert.equal(code, 0, `${participant.lines.join('\n')}\n${agent.lines.join('\n')}`);
  const reports = participant.lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.equal(reports.find(({ subscribed }) => subscribed)?.kind, kindOfAgents);
  const answers = reports.flatMap(({ answered }) => (typeof answered === 'number' ? [answered] : [])).sort((a, b) => a - b);
  assert.equal(answers.length, repetitions);
  t.diagnostic(`answered after ${answers[Math.floor(repetitions / 2)]} ms, p95 ${answers[Math.floor(repetitions * 0.95)]} ms`);
  await eventually('the room ends without the participant', () => !node.node.parts.rooms.has('room'));
  await eventually(
    () => `the job ends:\n${agent.lines.join('\n')}`,
    () => agent.lines.some((line) => /shutting down job|job.*shut|process exiting/i.test(line)),
  );
});

test('the SDK of LiveKit for Python manages rooms and dispatches agents', options, async (t) => {
  await install();
  const { name, here } = await makeNamespace(t);
  const node = await startNode(t, { SVC_ACCESS_KEYS: accessKeysText, SVC_LIVEKIT_ENABLED: 'true', SVC_IP: here });
  const key = { LIVEKIT_URL: node.url, LIVEKIT_API_KEY: accessKey.id, LIVEKIT_API_SECRET: accessKey.secret };
  const { lines } = start(t, name, 'rooms.py', [], key);
  const result = await eventually(
    () => `a result:\n${lines.join('\n')}`,
    () => lines.find((line) => line.startsWith('{')),
  );
  assert.deepEqual(JSON.parse(result), {
    created: ['made', 'one', 5],
    metadata: 'two',
    listed: ['made'],
    participants: 0,
    dispatched: true,
    missing: 'not_found',
    after: 0,
  });
});
