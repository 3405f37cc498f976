// A process that publishes events through a spool, killed while it does.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const program = join(import.meta.dirname, '../../../kit/processes/spooling-process.ts');

/** @returns the number of the last event that it reported, at least `count`; it may have spooled more */
export async function killedSpool(base: string, url: string, count: number): Promise<number> {
  const child = spawn(process.execPath, [program, base, url], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    if (said.split('\n').length > count) child.kill('SIGKILL');
  });
  await once(child, 'close');
  return Number(said.trim().split('\n').at(-1));
}
