// Free ports of loopback for programs that need a fixed port: outside of the system's ephemeral range.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { isPortFree } from '../../../node/media/worker/free-ports.ts';

/** Below the ephemeral ports of Linux (32768 up) and the node ports of Kubernetes (30000 up): a port stays free during a restart. */
const range = { from: 20_000, count: 9_900 };
/** Distance between two assigned ports, because some programs use a small range from theirs. */
const apart = 20;

/**
 * Distinct ports without a listener on TCP or UDP, and not assigned to another running process: a port may be bound only later, and test
 * files run in separate processes.
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

/** A single free port. */
export async function freePort(ip?: string): Promise<number> {
  const [port = 0] = await freePorts(1, ip);
  return port;
}

/**
 * Holds the name of an abstract socket, which is unique per machine, while this process runs. Only Linux has them; other systems have no
 * such protection.
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
