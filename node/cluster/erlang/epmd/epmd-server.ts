// An EPMD of our own: names and ports of the nodes of this machine, for our nodes and for Erlang's.
import { createServer, type Server, type Socket } from 'node:net';
import type { Log } from '../../../common/log.ts';
import { listenOn } from '../listen.ts';
import { PacketReader } from '../packet-reader.ts';
import { aliveReply, type EpmdRequest, maxEpmdRequest, type NodeEntry, namesReply, parseEpmdRequest, portReply } from './epmd-packets.ts';

export type EpmdServerLimits = { connections: number; nodes: number; requestTimeoutMs: number };
export const epmdServerLimits: EpmdServerLimits = { connections: 1024, nodes: 256, requestTimeoutMs: 5000 };

type Registered = NodeEntry & { socket: Socket };

/** A name is kept as long as the connection that registered it, and registered from this machine only. */
export class EpmdServer {
  readonly #log: Log;
  readonly #limits: EpmdServerLimits;
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #nodes = new Map<string, Registered>();
  #port = 0;
  /** Starts anywhere and grows, as Erlang's does, so that a node that comes back under its name is another one. */
  #creation = 4 + Math.floor(Math.random() * 0x7fff_0000);

  constructor(log: Log, limits: EpmdServerLimits = epmdServerLimits) {
    this.#log = log;
    this.#limits = limits;
  }

  get port(): number {
    return this.#port;
  }

  /** Names that are registered now. */
  get names(): string[] {
    return [...this.#nodes.keys()];
  }

  /** Listens on one more address; null: on all, of both families where the machine has both. @throws Error of listen(2) */
  async listen(ip: string | null, port: number): Promise<void> {
    const server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
    server.maxConnections = this.#limits.connections;
    this.#port = await listenOn(server, ip, port);
    server.on('error', (error) => this.#log.error({ err: error }, 'EPMD failed to take a connection'));
    this.#servers.push(server);
  }

  /** Ends all connections: those who were registered look for another EPMD, or become one. Idempotent. */
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
        // Registered: nothing more is expected, and whatever comes is dropped.
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

  /** Whether the connection stays. */
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
        // As Erlang's answers while nodes are registered and its command check is not relaxed.
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
    this.#log.debug({ node: entry.name, port: entry.port }, 'a node registered with this EPMD');
    return true;
  }
}

/** From this machine: from loopback, or from the very address that it came to. */
function isLocal({ remoteAddress = '', localAddress }: Socket): boolean {
  return remoteAddress === localAddress || /^(::ffff:)?127\.|^::1$/.test(remoteAddress);
}
