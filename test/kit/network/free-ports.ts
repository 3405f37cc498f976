// Free ports of loopback for programs that must be told theirs: outside of what the system gives to outgoing connections.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { isPortFree } from '../../../node/media/worker/free-ports.ts';

/** Below the ephemeral ports of Linux (32768 up) and the node ports of Kubernetes (30000 up): nobody takes one while its owner restarts. */
const range = { from: 20_000, count: 9_900 };
/** Ports between two that are given: some begin a small range with theirs. */
const apart = 20;

/**
 * Different ports that nothing listens on now, by TCP or UDP, and that nobody else was given who still runs: it may be bound only later, and
 * the files of a layer are processes of their own.
 */
export async function freePorts(count: number, ip = '127.0.0.1'): Promise<number[]> {
  const found: number[] = [];
  for (let tries = 0; found.length < count && tries < 1_000; tries += 1) {
    const slot = Math.floor((Math.random() * range.count) / apart);
    if (!(await claim(slot))) continue;
    const port = range.from + slot * apart;
    if (await isPortFree(ip, port)) found.push(port);
  }
  if (found.length < count) throw new Error(`no ${count} ports are free on ${ip}`);
  return found;
}

/** One of these. */
export async function freePort(ip?: string): Promise<number> {
  const [port = 0] = await freePorts(1, ip);
  return port;
}

/**
 * Holds the name of an abstract socket, of which the kernel knows one on a machine, as long as this process runs. Only Linux has them:
 * elsewhere it is left to chance.
 */
async function claim(slot: number): Promise<boolean> {
  const server = createServer().unref();
  try {
    server.listen(`\0mediarooms-ports-${slot}`);
    await once(server, 'listening');
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'EADDRINUSE';
  }
}
