// EPMD server: maps names of nodes on this host to ports, for Mediarooms and Erlang nodes.
import { createServer, type Server, type Socket } from 'node:net';
import type { Log } from '../../../common/log.ts';
import { listenOn } from '../listen.ts';
import { PacketReader } from '../packet-reader.ts';
import { aliveReply, type EpmdRequest, maxEpmdRequest, type NodeEntry, namesReply, parseEpmdRequest, portReply } from './epmd-packets.ts';

export type EpmdServerLimits = { connections: number; nodes: number; requestTimeoutMs: number };
export const epmdServerLimits: EpmdServerLimits = { connections: 1024, nodes: 256, requestTimeoutMs: 5000 };

type Registered = NodeEntry & { socket: Socket };

/** A name stays registered while its connection is open. Only local processes can register. */
export class EpmdServer {
  readonly #log: Log;
  readonly #limits: EpmdServerLimits;
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #nodes = new Map<string, Registered>();
  #port = 0;
  /** Starts at a random number and grows, as in the EPMD of Erlang, so that a restarted node differs from its previous incarnation. */
  #creation = 4 + Math.floor(Math.random() * 0x7fff_0000);

  constructor(log: Log, limits: EpmdServerLimits = epmdServerLimits) {
    this.#log = log;
    this.#limits = limits;
  }

  get port(): number {
    return this.#port;
  }

  /** Currently registered names. */
  get names(): string[] {
    return [...this.#nodes.keys()];
  }

  /** Listens on one more address; null: on all addresses of both families. @throws Error of listen(2) */
  async listen(ip: string | null, port: number): Promise<void> {
    const server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
    server.maxConnections = this.#limits.connections;
    this.#port = await listenOn(server, ip, port);
    server.on('error', (error) => this.#log.error({ err: error }, 'EPMD could not accept connection'));
    this.#servers.push(server);
  }

  /** Closes all connections. Registered nodes then search for another EPMD, or become one. Idempotent. */
  async close(): Promise<void> {
    const closed = this.#servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve)));
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closed);
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    const deadline = setTimeout(() => socket.destroy(), this.#limits.requestTimeoutMs);
    const reader = new PacketReader(2, maxEpmdRequest);
    const take = (chunk: Buffer) => {
      try {
        reader.push(chunk);
        const packet = reader.next();
        if (!packet) return;
        socket.off('data', take);
        if (!this.#answer(socket, parseEpmdRequest(packet))) return;
        // Registered: no more data is expected, and it is ignored.
        clearTimeout(deadline);
        socket.setKeepAlive(true, 60_000);
        socket.resume();
      } catch {
        socket.destroy();
      }
    };
    socket.on('data', take);
    socket.once('close', () => {
      clearTimeout(deadline);
      this.#sockets.delete(socket);
      for (const [name, node] of this.#nodes) if (node.socket === socket) this.#nodes.delete(name);
    });
  }

  /** Returns true if the connection stays open. */
  #answer(socket: Socket, request: EpmdRequest): boolean {
    switch (request.kind) {
      case 'alive':
        return this.#register(socket, request.entry);
      case 'portPlease':
        socket.end(portReply(this.#nodes.get(request.name)));
        return false;
      case 'names':
        socket.end(namesReply(this.#port, this.#nodes.values()));
        return false;
      case 'kill':
        // Same response as the EPMD of Erlang while nodes are registered and its relaxed command check is off.
        socket.end('NO');
        return false;
      case 'stop':
      case 'dump':
        socket.destroy();
        return false;
      default:
        return request satisfies never;
    }
  }

  #register(socket: Socket, entry: NodeEntry): boolean {
    if (!isLocal(socket)) {
      socket.destroy();
      return false;
    }
    if (this.#nodes.has(entry.name) || this.#nodes.size >= this.#limits.nodes) {
      socket.end(aliveReply(null, entry.highest));
      return false;
    }
    this.#nodes.set(entry.name, { ...entry, socket });
    this.#creation = this.#creation >= 0xffff_ffff ? 4 : this.#creation + 1;
    socket.write(aliveReply(this.#creation, entry.highest));
    this.#log.debug({ node: entry.name, port: entry.port }, 'node registered with this EPMD');
    return true;
  }
}

/** A connection is local if it comes from loopback, or from the address that it was sent to. */
function isLocal({ remoteAddress = '', localAddress }: Socket): boolean {
  return remoteAddress === localAddress || /^(::ffff:)?127\.|^::1$/.test(remoteAddress);
}
