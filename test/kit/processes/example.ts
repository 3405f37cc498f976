// Example runner: starts a program of examples/ with `npm start` like a user, and stops it with the test.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { ensureBuilds, serverSdk } from '../../../tools/builds.mjs';
import { root } from '../../../tools/paths.mjs';

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
  const looking = new Set<() => void>();
  const ended = once(child, 'close').then(([code]) => {
    over = true;
    for (const look of looking) look();
    return code as number | null;
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
      for (const look of looking) look();
    });
  }
  t.after(async () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // All processes have exited.
    }
    await ended;
  });
  const says = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const found = pattern.exec(output());
        const why = over ? 'exited' : late ? `ran for ${timeoutMs} ms` : undefined;
        if (found) resolve(found);
        else if (why) reject(new Error(`The example ${why} without printing ${pattern}:\n${output()}`));
        else return;
        looking.delete(look);
        clearTimeout(timer);
      };
      let late = false;
      const timer = setTimeout(() => {
        late = true;
        look();
      }, timeoutMs);
      looking.add(look);
      look();
    });
  return { says, output, ended };
}
