// Servers that a test makes itself, which listen on loopback and end with the test; and the end of a socket.
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Scope } from '../kube/scope.ts';

/** @returns the port of the server, which is closed at the end, with its connections */
export async function listen(scope: Scope, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('close', () => sockets.delete(socket))));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  scope.after(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** Resolves when the socket is closed, also by a reset, for which `once(socket, 'close')` rejects. */
export function socketClosed(socket: Socket): Promise<void> {
  if (socket.closed) return Promise.resolve();
  return new Promise((resolve) => {
    socket.on('error', () => {});
    socket.once('close', () => resolve());
  });
}
