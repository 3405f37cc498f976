// A TCP connection that a test can cut and mend: what a lost network is to a websocket.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';

export type TcpProxy = {
  port: number;
  /** Ends every connection and refuses new ones until mend(). */
  cut: () => void;
  mend: () => void;
  /** Connections that were let through so far. */
  connections: () => number;
  /** From now on no more bytes per second go to the target, on each connection; undefined: as many as there are. */
  throttle: (bytesPerSecond: number | undefined) => void;
};

/** Forwards to a port of the same address of this machine; ended with the test, or with the file whose `after` is given. */
export async function startTcpProxy(t: { after: (end: () => void) => void }, targetPort: number, address = '127.0.0.1'): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let open = true;
  let count = 0;
  let rate: number | undefined;
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
    client
      .pipe(slowed(() => rate))
      .pipe(target)
      .pipe(client);
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
    throttle: (bytesPerSecond) => {
      rate = bytesPerSecond;
    },
  };
}

/** What goes through takes its time. */
function slowed(rate: () => number | undefined): Transform {
  return new Transform({
    transform: (chunk: Buffer, _, done) => {
      const now = rate();
      if (now === undefined) done(null, chunk);
      else setTimeout(() => done(null, chunk), (chunk.length * 1000) / now).unref();
    },
  });
}
