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

type Addresses = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>;

/** PROXY protocol header of an IPv4 client, as proxies send it (haproxy.org/download/2.8/doc/proxy-protocol.txt). */
export function proxyHeader(client: Addresses, version: 1 | 2): Buffer {
  const { remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 } = client;
  if (version === 1) return Buffer.from(`PROXY TCP4 ${remoteAddress} ${localAddress} ${remotePort} ${localPort}\r\n`);
  const ports = Buffer.alloc(4);
  ports.writeUInt16BE(remotePort, 0);
  ports.writeUInt16BE(localPort, 2);
  const bytes = (address: string) => Buffer.from(address.split('.').map(Number));
  return proxyHeaderV2(0x21, 0x11, Buffer.concat([bytes(remoteAddress), bytes(localAddress), ports]));
}

/** @param command version and command @param family address family and protocol */
export function proxyHeaderV2(command: number, family: number, payload: Buffer): Buffer {
  const header = Buffer.from([0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a, command, family, 0, 0]);
  header.writeUInt16BE(payload.length, 14);
  return Buffer.concat([header, payload]);
}
