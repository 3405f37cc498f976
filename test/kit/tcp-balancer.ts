// A balancer of TCP connections, as an Ingress is one: to each server in turn, and for a while to one that is gone, of which it has not heard yet.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type TcpBalancer = {
  port: number;
  /** The server is gone: what was open to it ends, and what is given to it from now on is taken in and never answered. */
  lose: (port: number) => void;
  /** It has heard of the loss: new connections go to the others. */
  forget: (port: number) => void;
  /** Connections that were given to servers that are gone. */
  unanswered: () => number;
};

/** Between ports of 127.0.0.1, each as often as it is named. Ended with the test. */
export async function startTcpBalancer(t: { after: (end: () => void) => void }, ports: readonly number[]): Promise<TcpBalancer> {
  const sockets = new Map<Socket, number>();
  const gone = new Set<number>();
  let targets = [...ports];
  let turn = 0;
  let unanswered = 0;
  const hold = (socket: Socket, port: number) => {
    sockets.set(socket, port);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    const port = targets[turn % targets.length] ?? 0;
    turn += 1;
    hold(client, port);
    if (gone.has(port)) {
      unanswered += 1;
      // Read, or its end would not be seen.
      client.resume();
      return;
    }
    const target = connect(port, '127.0.0.1');
    hold(target, port);
    client.pipe(target).pipe(client);
    client.on('close', () => target.destroy());
    target.on('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets.keys()) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    lose: (port) => {
      gone.add(port);
      for (const [socket, to] of sockets) if (to === port) socket.resetAndDestroy();
    },
    forget: (port) => {
      targets = targets.filter((each) => each !== port);
    },
    unanswered: () => unanswered,
  };
}
