// Free ports: finds consecutive ports for the media workers, free for UDP and TCP.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Start of the search for a free block. */
export const firstPort = 50_000;
export const lastPort = 65_535;

type Probe = (ip: string, port: number) => Promise<boolean>;

/** The first block of `count` free ports starting at `from`; undefined if there is none up to the last port. */
export async function findFreePortRange(ip: string, count: number, from: number, probe: Probe = isPortFree): Promise<number | undefined> {
  let base = from;
  for (let port = from; port <= lastPort; port += 1) {
    if (!(await probe(ip, port))) base = port + 1;
    else if (port - base + 1 === count) return base;
  }
  return undefined;
}

/** True if UDP and TCP of a port can be bound now. Another process may bind it a moment later. */
export async function isPortFree(ip: string, port: number): Promise<boolean> {
  return (await canBindUdp(ip, port)) && (await canBindTcp(ip, port));
}

async function canBindUdp(ip: string, port: number): Promise<boolean> {
  const socket = createSocket(ip.includes(':') ? 'udp6' : 'udp4');
  try {
    socket.bind({ port, address: ip, exclusive: true });
    await once(socket, 'listening');
    return true;
  } catch (error) {
    return refuseUnlessTaken(error);
  } finally {
    await new Promise<void>((resolve) => socket.close(resolve));
  }
}

async function canBindTcp(ip: string, port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ port, host: ip, exclusive: true });
    await once(server, 'listening');
    return true;
  } catch (error) {
    return refuseUnlessTaken(error);
  } finally {
    if (server.listening) await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}

/** A port that is in use or forbidden is skipped; any other error (for example, no such address) affects all ports. */
function refuseUnlessTaken(error: unknown): false {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE' || code === 'EACCES') return false;
  throw error;
}
