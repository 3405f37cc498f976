// Free ports of loopback for programs that must be told theirs: outside of what the system gives to outgoing connections.
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ephemeral ports of Linux (32768 up) and the node ports of Kubernetes (30000 up): nobody takes one while its owner restarts. */
const range = { from: 20_000, count: 9_900 };

/** Different ports that nothing listens on now. */
export async function freePorts(count: number, ip = '127.0.0.1'): Promise<number[]> {
  const found = new Set<number>();
  for (let tries = 0; found.size < count && tries < 1_000; tries += 1) {
    const port = range.from + Math.floor(Math.random() * range.count);
    if (await isFree(port, ip)) found.add(port);
  }
  if (found.size < count) throw new Error(`no ${count} ports are free on ${ip}`);
  return [...found];
}

async function isFree(port: number, ip: string): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, ip);
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
