// A node on core 0 under the load generator on core 1, and measurements of several sides in turn.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { benchToken, startPinnedNode } from './processes.ts';

/**
 * Measures a node that is started for it. `flags`: command and flags of the load generator.
 * @returns what the load generator prints
 */
export async function measureNode<Result>(load: string, flags: readonly string[], env: Record<string, string> = {}): Promise<Result> {
  const node = await startPinnedNode({ ...loopbackOnly, ...env });
  try {
    const [command = '', ...rest] = flags;
    const target = ['-address', new URL(node.url).host, '-pid', String(node.pid)];
    const child = spawn('taskset', ['-c', '1', load, command, ...target, ...rest], {
      env: { ...process.env, BENCH_TOKEN: benchToken },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    if (code !== 0) throw new Error(`the load generator exited with code ${code}`);
    return JSON.parse(printed);
  } finally {
    await node.stop();
  }
}

/** All that the load generator has. */
const loopbackOnly = { SVC_IP: '127.0.0.1', SVC_WEBRTC_TURN_LISTEN_IP: '127.0.0.1' };

/** Measures all sides `rounds` times; the order alternates, so that drift affects all. */
export async function inTurn<Side extends string, Result>(
  sides: readonly Side[],
  rounds: number,
  measure: (side: Side) => Promise<Result>,
): Promise<Record<Side, Result[]>> {
  const results = Object.fromEntries(sides.map((side) => [side, [] as Result[]])) as Record<Side, Result[]>;
  for (let round = 0; round < rounds; round += 1)
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) results[side].push(await measure(side));
  return results;
}
