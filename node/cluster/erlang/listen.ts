// TCP listener: listens on one address, or on all addresses of both families.
import { once } from 'node:events';
import type { Server } from 'node:net';

/** Listens and returns the port. `ip` null: all addresses. `port` 0: any free port. @throws Error of listen(2) */
export async function listenOn(server: Server, ip: string | null, port: number): Promise<number> {
  if (ip !== null) return listenAt(server, ip, port);
  try {
    return await listenAt(server, '::', port);
  } catch (error) {
    if (!isSystemError(error, 'EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL')) throw error;
    return listenAt(server, '0.0.0.0', port);
  }
}

export function isSystemError(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

async function listenAt(server: Server, host: string, port: number): Promise<number> {
  server.listen({ host, port, exclusive: true });
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address ? address.port : port;
}
