// Node as a separate process, started as a user does: for tests of signals, kill -9 and several nodes on one machine.
import './worker-bin.ts';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Environment } from '../../../node/env.ts';
import { nodeProgram, reportAnswers } from '../../../tools/node-bundle.mjs';
import { nodeFlags } from '../../../tools/paths.mjs';
import { assertNoneMarked } from '../answers/answer-check.ts';
import { checkLast } from '../check-last.ts';
import { eventually } from '../eventually.ts';
import type { Scope } from '../kube/scope.ts';
import { LastLines } from '../last-lines.ts';
import { freePorts } from '../network/free-ports.ts';
import { assertNothingFound, startSearch } from '../secret-search.ts';
import { accessTo, type NodeAccess, testEnvironment } from './start-node.ts';

const startTimeoutMs = 60_000;
const endTimeoutMs = 60_000;
const startedUrl = /"url":"([^"]+)"/;
const forTests: Environment = { ...testEnvironment, SVC_STRUCTURED_LOGGING: 'true', SVC_LOG_LEVEL: 'debug' };

export type NodeProcess = NodeAccess & {
  pid: number;
  /** All output so far, both streams. */
  output: () => string;
  /** Current process ids of its media workers. */
  children: () => Promise<number[]>;
  kill: (signal: NodeJS.Signals) => void;
  /** Resolves with exit code and signal when the process has exited. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
};

export type NodeProcessOptions = {
  /** Command prefix, for example to run the node in a network namespace. */
  wrap?: readonly string[];
  /** Names of files of this folder that it imports first: their changes affect only the node. */
  imports?: readonly string[];
  /** Only the given variables, in an empty folder: the node as a user starts it from source. */
  bare?: boolean;
};

/**
 * Resolves when the node has logged its start. Killed with the test; fails the test if the output contains a secret, and shows its last
 * lines if the test fails.
 */
export async function startNodeProcess(scope: Scope, env: Environment = {}, options: NodeProcessOptions = {}): Promise<NodeProcess> {
  const resources = mkdtempSync(join(tmpdir(), 'mediarooms-test-'));
  const whole = options.bare ? env : { ...forTests, SVC_RESOURCES_BASE_PATH: resources, ...env };
  const child = spawnNode(whole, options, options.bare ? resources : undefined);
  const ended = waitForEnd(child);
  const search = startSearch(whole);
  const lastLines = new LastLines();
  lastLines.showIfFailed(scope);
  scope.after(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(resources, { recursive: true, force: true });
  });
  checkLast(scope, () => {
    search.scan(text);
    assertNothingFound(search);
    assertNoneMarked(text);
  });
  let text = '';
  let url: string | undefined;
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue;
    createInterface({ input: stream }).on('line', (line) => {
      text += `${line}\n`;
      lastLines.add(line);
      if (line.includes('node started')) url ??= startedUrl.exec(line)?.[1];
    });
  }
  const startedOn = () => {
    if ((child.exitCode ?? child.signalCode) !== null && url === undefined)
      throw new Error(`the node exited with code ${child.exitCode}:\n${text}`);
    return url;
  };
  const nodeUrl = await eventually(() => `the node has started:\n${text}`, startedOn, { within: startTimeoutMs, every: 10 });
  const pid = child.pid ?? 0;
  return {
    ...accessTo(nodeUrl, env),
    pid,
    output: () => text,
    children: () => childrenOf(pid),
    kill: (signal) => child.kill(signal),
    ended,
  };
}

/** Port for a node that restarts on the same port: outside of the ephemeral range, so that it stays free meanwhile. */
export async function stablePort(): Promise<Environment> {
  const [port] = await freePorts(1);
  return { SVC_PORT: String(port) };
}

/** Runs a node that is expected to fail at startup. */
export async function runNodeToEnd(
  env: Environment,
  { wrap }: Pick<NodeProcessOptions, 'wrap'> = {},
): Promise<{ code: number | null; output: string }> {
  const whole = { ...forTests, ...env };
  const search = startSearch(whole);
  const child = spawnNode(whole, { wrap });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const timer = setTimeout(() => child.kill('SIGKILL'), endTimeoutMs);
  const { code } = await waitForEnd(child);
  clearTimeout(timer);
  search.scan(output);
  assertNothingFound(search);
  return { code, output };
}

/** Process ids of the direct children of a process. */
export async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}

function spawnNode(env: Environment, { wrap = [], imports = [] }: NodeProcessOptions, cwd?: string): ChildProcess {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(SVC|LEGACY)_/.test(name)));
  const before = imports.map((file) => `--import=${join(import.meta.dirname, file)}`);
  const [program = process.execPath, ...args] = [...wrap, process.execPath, ...nodeFlags, ...before, reportAnswers, nodeProgram];
  return spawn(program, args, { env: { ...inherited, ...env }, stdio: ['ignore', 'pipe', 'pipe'], cwd });
}

async function waitForEnd(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { code, signal };
}
