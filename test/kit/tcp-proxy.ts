// A TCP connection that a test can cut and mend: what a lost network is to a websocket.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type TcpProxy = {
  port: number;
  /** Ends every connection and refuses new ones until mend(). */
  cut: () => void;
  mend: () => void;
  /** Connections that were let through so far. */
  connections: () => number;
};

/** Forwards to a port of the same address of this machine; ended with the test, or with the file whose `after` is given. */
export async function startTcpProxy(t: { after: (end: () => void) => void }, targetPort: number, address = '127.0.0.1'): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let open = true;
  let count = 0;
  const hold = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    hold(client);
    if (!open) {
      client.resetAndDestroy();
      return;
    }
    count += 1;
    const target = connect(targetPort, address);
    hold(target);
    client.pipe(target).pipe(client);
    client.on('close', () => target.destroy());
    target.on('close', () => client.destroy());
  });
  server.listen(0, address);
  await once(server, 'listening');
  const cut = () => {
    open = false;
    for (const socket of sockets) socket.resetAndDestroy();
  };
  t.after(() => {
    cut();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    mend: () => {
      open = true;
    },
    connections: () => count,
  };
}
