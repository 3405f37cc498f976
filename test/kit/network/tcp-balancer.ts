// TCP load balancer like an Ingress: round robin over the servers, including lost ones that it has not detected yet.
import { connect, type Socket } from 'node:net';
import type { Scope } from '../kube/scope.ts';
import { join, startTcpServer } from './tcp-server.ts';

export type TcpBalancer = {
  port: number;
  /** The server is lost: its open connections end, and new connections to it are accepted but get no response. */
  lose: (port: number) => void;
  /** The balancer has detected the loss: new connections go to the other servers. */
  forget: (port: number) => void;
  /** Number of connections that were assigned to lost servers. */
  unanswered: () => number;
};

/** Balances between ports of 127.0.0.1; a repeated port gets more connections. Stopped with the test. */
export async function startTcpBalancer(t: Scope, ports: readonly number[]): Promise<TcpBalancer> {
  /** Server of each connection. */
  const given = new Map<Socket, number>();
  const failed = new Set<number>();
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
    if (failed.has(port)) {
      unanswered += 1;
      // Read, so that its end is detected.
      client.resume();
      return;
    }
    join(client, give(hold(connect(port, '127.0.0.1')), port));
  });
  return {
    port,
    lose: (port) => {
      failed.add(port);
      for (const [socket, to] of given) if (to === port) socket.resetAndDestroy();
    },
    forget: (port) => {
      targets = targets.filter((each) => each !== port);
    },
    unanswered: () => unanswered,
  };
}
