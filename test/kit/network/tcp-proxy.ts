// TCP proxy that a test can cut, restore or silence, like a network failure.
import { connect, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import type { Scope } from '../kube/scope.ts';
import { type Hold, join, startTcpServer } from './tcp-server.ts';

export type TcpProxy = {
  port: number;
  /** Closes every connection and refuses new ones until restore(). */
  cut: () => void;
  restore: () => void;
  /** Drops everything in both directions from now on, without closing connections. */
  hush: () => void;
  /** Number of accepted connections. */
  connections: () => number;
  /** Limits the rate to the target on each connection, in bytes per second; undefined removes the limit. */
  throttle: (bytesPerSecond: number | undefined) => void;
};

/** Forwards to a port of the same address of this machine; stopped with the scope. */
export async function startTcpProxy(scope: Scope, targetPort: number, address = '127.0.0.1'): Promise<TcpProxy> {
  let open = true;
  let silent = false;
  let count = 0;
  let rate: number | undefined;
  const serve = (client: Socket, hold: Hold) => {
    if (!open) {
      client.resetAndDestroy();
      return;
    }
    if (silent) return;
    count += 1;
    const slow = slowed(() => rate);
    join(client, hold(connect(targetPort, address)), slow);
  };
  const { port, sockets } = await startTcpServer(scope, serve, address);
  const cut = () => {
    open = false;
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port,
    cut,
    restore: () => {
      open = true;
    },
    connections: () => count,
    hush: () => {
      silent = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    throttle: (bytesPerSecond) => {
      rate = bytesPerSecond;
    },
  };
}

/** Delays the data to the given rate. */
function slowed(rate: () => number | undefined): Transform {
  return new Transform({
    transform: (chunk: Buffer, _, done) => {
      const now = rate();
      if (now === undefined) done(null, chunk);
      else setTimeout(() => done(null, chunk), (chunk.length * 1000) / now).unref();
    },
  });
}
