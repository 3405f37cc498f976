// TCP server base of proxies between clients and servers; closes its connections when it stops.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export type TcpServer = {
  port: number;
  /** All open connections, to clients and to targets. */
  sockets: ReadonlySet<Socket>;
};
/** Registers a connection, so that it closes with the server. */
export type Hold = (socket: Socket) => Socket;

/** `serve` gets each client connection, already registered. Stopped with the test, or with the file whose `after` is given. */
export async function startTcpServer(
  t: { after: (end: () => void) => void },
  serve: (client: Socket, hold: Hold) => void,
  address = '127.0.0.1',
): Promise<TcpServer> {
  const sockets = new Set<Socket>();
  const hold: Hold = (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    return socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => serve(hold(client), hold)).listen(0, address);
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, sockets };
}

/** Forwards in both directions, the client's data through `through`; if one side ends, so does the other. */
export function join(client: Socket, target: Socket, through: Duplex = target): void {
  client.pipe(through);
  if (through !== target) through.pipe(target);
  target.pipe(client);
  client.on('close', () => target.destroy());
  target.on('close', () => client.destroy());
}
