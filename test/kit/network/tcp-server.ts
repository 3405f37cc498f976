// TCP server base of proxies between clients and servers; closes its connections when it stops.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Scope } from '../kube/scope.ts';

export type TcpServer = {
  port: number;
  /** All open connections, to clients and to targets. */
  sockets: ReadonlySet<Socket>;
  /** Closes it before the end of the test. Idempotent. */
  close: () => Promise<void>;
};
/** Registers a connection, so that it closes with the server. */
export type Hold = (socket: Socket) => Socket;

/** `serve` gets each client connection, already registered. Stopped with the scope. */
export async function startTcpServer(
  scope: Scope,
  serve: (client: Socket, hold: Hold) => void,
  address = '127.0.0.1',
  port = 0,
): Promise<TcpServer> {
  const sockets = new Set<Socket>();
  const hold: Hold = (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    return socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => serve(hold(client), hold)).listen(port, address);
  await once(server, 'listening');
  const bound = (server.address() as AddressInfo).port;
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  scope.after(close);
  return { port: bound, sockets, close };
}

/** Forwards in both directions, the client's data through `through`; if one side ends, so does the other. */
export function join(client: Socket, target: Socket, through: Duplex = target): void {
  client.pipe(through);
  if (through !== target) through.pipe(target);
  target.pipe(client);
  client.on('close', () => target.destroy());
  target.on('close', () => client.destroy());
}
