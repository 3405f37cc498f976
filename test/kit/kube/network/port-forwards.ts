// Port forwards from an address and port to a pod, over TCP or UDP, like kube-proxy and load balancers.
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type Hold, join, startTcpServer } from '../../network/tcp-server.ts';

export type Target = { ip: string; port: number };
export type Protocol = 'TCP' | 'UDP';
export type Forward = { readonly port: number; close: () => Promise<void> };

/** Idle timeout of the return path of a UDP client, in milliseconds. */
const udpIdle = 60_000;

/** @param target read for each connection and, over UDP, for each new client; undefined if there is no pod */
export function forward(protocol: Protocol, ip: string, port: number, target: () => Target | undefined): Promise<Forward> {
  return protocol === 'TCP' ? forwardTcp(ip, port, target) : forwardUdp(ip, port, target);
}

function forwardTcp(ip: string, port: number, target: () => Target | undefined): Promise<Forward> {
  const serve = (client: Socket, hold: Hold) => {
    const to = target();
    if (to) join(client, hold(connect(to.port, to.ip)));
    else client.resetAndDestroy();
  };
  // Closed by the pod runner.
  return startTcpServer({ after: () => {} }, serve, ip, port);
}

async function forwardUdp(ip: string, port: number, target: () => Target | undefined): Promise<Forward> {
  const server = createSocket('udp4');
  const ways = new Map<string, UdpWay>();
  server.on('error', () => {});
  server.on('message', (message, client) => {
    const key = `${client.address}:${client.port}`;
    const to = target();
    let way = ways.get(key);
    if (way && !way.leadsTo(to)) {
      way.close();
      way = undefined;
    }
    if (!to) return;
    if (!way) {
      way = new UdpWay(
        to,
        (answer) => server.send(answer, client.port, client.address),
        () => ways.delete(key),
      );
      ways.set(key, way);
    }
    way.send(message);
  });
  server.bind(port, ip);
  await once(server, 'listening');
  return {
    port: server.address().port,
    close: async () => {
      for (const way of ways.values()) way.close();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Forward and return path of one UDP client. */
class UdpWay {
  readonly #socket: UdpSocket = createSocket('udp4');
  readonly #to: Target;
  readonly #ended: () => void;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(to: Target, back: (answer: Buffer) => void, ended: () => void) {
    this.#to = to;
    this.#ended = ended;
    this.#socket.on('message', (answer) => {
      this.#used();
      back(answer);
    });
    this.#socket.on('error', () => this.close());
    this.#used();
  }

  leadsTo(target: Target | undefined): boolean {
    return target?.ip === this.#to.ip && target.port === this.#to.port;
  }

  send(message: Buffer): void {
    this.#used();
    this.#socket.send(message, this.#to.port, this.#to.ip);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#socket.close();
    this.#ended();
  }

  #used(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.close(), udpIdle);
    this.#timer.unref();
  }
}
