// Example runner: starts a program of examples/ with `npm start` like a user, and stops it with the test.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { ensureBuilds, serverSdk } from '../../../tools/builds.mjs';
import { root } from '../../../tools/paths.mjs';
import { eventually } from '../eventually.ts';

/** Timeout for the output of an example, in milliseconds. */
const timeoutMs = 90_000;

export const examples = join(root, 'examples');

export type RunningExample = {
  /** Resolves with the match of the pattern in the output. */
  says: (pattern: RegExp) => Promise<RegExpExecArray>;
  output: () => string;
  /** Resolves with the exit code; null if a signal ended it. */
  ended: Promise<number | null>;
};

/** @param name of its folder. @param env in addition to the environment of the test. */
export async function startExample(
  t: TestContext,
  name: string,
  args: readonly string[],
  env: Record<string, string>,
): Promise<RunningExample> {
  await ensureBuilds(serverSdk);
  // npm, a shell and the program: one process group, so that all are stopped.
  const child = spawn('npm', ['start', '--silent', '--', ...args], {
    cwd: join(examples, name),
    env: { ...process.env, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  // Vite and others color their output if CI is set.
  const output = () => stripVTControlCharacters(printed);
  let over = false;
  const ended = once(child, 'close').then(([code]) => {
    over = true;
    return code as number | null;
  });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  t.after(async () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // All processes have exited.
    }
    await ended;
  });
  const says = (pattern: RegExp) => {
    const check = () => {
      const found = pattern.exec(output());
      if (!found && over) throw new Error(`The example exited without printing ${pattern}:\n${output()}`);
      return found;
    };
    return eventually(() => `the example prints ${pattern}:\n${output()}`, check, { within: timeoutMs });
  };
  return { says, output, ended };
}
