// A balancer of TCP connections, as an Ingress is one: to each server in turn, and for a while to one that is gone, of which it has not heard yet.
import { connect, type Socket } from 'node:net';
import { join, startTcpServer } from './tcp-server.ts';

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
  /** Which server each connection was given to. */
  const given = new Map<Socket, number>();
  const gone = new Set<number>();
  let targets = [...ports];
  let turn = 0;
  let unanswered = 0;
  const give = (socket: Socket, to: number) => {
    given.set(socket, to);
    return socket.on('close', () => given.delete(socket));
  };
  const { port } = await startTcpServer(t, (client, hold) => {
    const port = targets[turn % targets.length] ?? 0;
    turn += 1;
    give(client, port);
    if (gone.has(port)) {
      unanswered += 1;
      // Read, or its end would not be seen.
      client.resume();
      return;
    }
    join(client, give(hold(connect(port, '127.0.0.1')), port));
  });
  return {
    port,
    lose: (port) => {
      gone.add(port);
      for (const [socket, to] of given) if (to === port) socket.resetAndDestroy();
    },
    forget: (port) => {
      targets = targets.filter((each) => each !== port);
    },
    unanswered: () => unanswered,
  };
}
