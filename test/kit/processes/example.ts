// An example of the folder examples/ as a user starts it: by `npm start`, ended with the test.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { ensureBuilds, serverSdk } from '../../../tools/builds.mjs';
import { root } from '../../../tools/paths.mjs';

/** How long an example may take to say something, in milliseconds. */
const timeoutMs = 90_000;

export const examples = join(root, 'examples');

export type RunningExample = {
  /** Resolves with what the pattern found in its output. */
  says: (pattern: RegExp) => Promise<RegExpExecArray>;
  output: () => string;
  /** Resolves with its exit code; null where a signal ended it. */
  ended: Promise<number | null>;
};

/** @param name of its folder. @param env beside that of the test. */
export async function startExample(
  t: TestContext,
  name: string,
  args: readonly string[],
  env: Record<string, string>,
): Promise<RunningExample> {
  await ensureBuilds(serverSdk);
  // npm, a shell and the program: a group of their own, so that all end.
  const child = spawn('npm', ['start', '--silent', '--', ...args], {
    cwd: join(examples, name),
    env: { ...process.env, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  // Vite and others colour what they say where CI is set.
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
      // All of it has ended.
    }
    await ended;
  });
  const says = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const found = pattern.exec(output());
        const why = over ? 'ended' : late ? `went on for ${timeoutMs} ms` : undefined;
        if (found) resolve(found);
        else if (why) reject(new Error(`The example ${why} without saying ${pattern}:\n${output()}`));
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
