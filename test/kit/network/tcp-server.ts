// A TCP server of a test that sits between clients and other servers; its connections end with it.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export type TcpServer = {
  port: number;
  /** Every connection that is open, to clients and to servers behind. */
  sockets: ReadonlySet<Socket>;
};
/** Takes a connection in, so that it ends with the server. */
export type Hold = (socket: Socket) => Socket;

/** `serve` gets each client, which is held already. Ended with the test, or with the file whose `after` is given. */
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

/** Passes everything on both ways, what the client sends by way of `through`; where one side ends, so does the other. */
export function join(client: Socket, target: Socket, through: Duplex = target): void {
  client.pipe(through);
  if (through !== target) through.pipe(target);
  target.pipe(client);
  client.on('close', () => target.destroy());
  target.on('close', () => client.destroy());
}
