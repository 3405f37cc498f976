// Erlang node: a node of the Erlang distribution that Erlang nodes accept as one of theirs.
import { EventEmitter } from 'node:events';
import { createServer, type Server } from 'node:net';
import type { Log } from '../../common/log.ts';
import { CallError } from './calls.ts';
import type { Connection, ConnectionLimits, DownReason } from './connection.ts';
import { Connections } from './connections.ts';
import { DistTls, type DistTlsConfig } from './dist-tls.ts';
import { defaultEpmdPort, EpmdService } from './epmd/epmd.ts';
import { Global } from './global.ts';
import { isSystemError, listenOn } from './listen.ts';
import { fitsMode, type NameMode, splitNodeName } from './node-names.ts';
import { ProcessRegistry, type Service } from './process-registry.ts';
import { Atom, type Term, tuple } from './terms/terms.ts';

export type ErlangNodeOptions = {
  /** `<name>@<host>`. */
  name: string;
  mode: NameMode;
  cookie: string;
  /** Whether to dial nodes that only support the Erlang cookie proof; default: no. */
  dialsErlang?: boolean;
  /** null: plain TCP. */
  tls?: DistTlsConfig | null;
  /** Listen address of distribution and EPMD; null: all addresses. */
  ip: string | null;
  /** null: any free port. */
  ports: { min: number; max: number } | null;
  /** Milliseconds, net_ticktime of Erlang. A node is lost after one to one and a quarter of it without data. */
  tick: number;
  log: Log;
  epmdPort?: number;
  limits?: ConnectionLimits;
};

export type ErlangNodeEvents = { nodeUp: [node: string]; nodeDown: [node: string, reason: DownReason] };

/** Event listeners must not throw. Hidden nodes (remote shells) may connect and call, but do not appear in lists and events. */
export class ErlangNode extends EventEmitter<ErlangNodeEvents> {
  readonly name: string;
  readonly port: number;
  readonly creation: number;
  readonly #server: Server;
  readonly #names: EpmdService;
  readonly #processRegistry: ProcessRegistry;
  readonly #connections: Connections;
  readonly #global: Global;
  readonly #tls: DistTls | undefined;
  #closing: Promise<void> | undefined;

  private constructor(options: ErlangNodeOptions, server: Server, port: number, names: EpmdService, tls: DistTls | undefined) {
    super();
    this.name = options.name;
    this.port = port;
    this.creation = names.creation;
    this.#server = server;
    this.#names = names;
    this.#tls = tls;
    this.#processRegistry = new ProcessRegistry(this.name, this.creation, options.log);
    this.#connections = new Connections({
      own: { name: this.name, creation: this.creation, cookie: options.cookie, dialsErlang: options.dialsErlang ?? false },
      mode: options.mode,
      epmdPort: options.epmdPort ?? defaultEpmdPort,
      tick: options.tick,
      log: options.log,
      tls,
      ...(options.limits && { limits: options.limits }),
      onUp: (connection) => this.#up(connection),
      onDown: (connection, reason) => this.#down(connection, reason),
      onMessage: (connection, message) => this.#processRegistry.handle(connection, message),
    });
    this.#global = new Global({
      self: this.name,
      locker: this.#processRegistry.newPid(),
      connected: () => this.connections,
      connect: (node) => this.connect(node),
      send: (node, message) => this.send(node, 'global_name_server', message),
      log: options.log,
    });
    this.register('global_name_server', this.#global.service);
    server.removeAllListeners('connection');
    server.on('connection', (socket) => void this.#connections.accept(socket));
    server.on('error', (error) => options.log.error({ err: error }, 'distribution could not accept connection'));
  }

  /** @throws Error with a message if the node name, a port, or the registration at EPMD is not available */
  static async start(options: ErlangNodeOptions): Promise<ErlangNode> {
    const parts = splitNodeName(options.name);
    if (!parts || !fitsMode(options.mode, parts.host)) throw new Error(`${options.name} is not a node name of mode ${options.mode}`);
    const tls = options.tls ? new DistTls(options.tls, options.log) : undefined;
    // Connections that arrive before the node is registered at EPMD are rejected.
    const server = createServer({ noDelay: true }, (socket) => socket.destroy());
    try {
      const port = await listenInRange(server, options.ip, options.ports);
      const names = await EpmdService.start({
        ip: options.ip,
        node: { name: parts.name, port },
        log: options.log,
        ...(options.epmdPort !== undefined && { port: options.epmdPort }),
      });
      return new ErlangNode(options, server, port, names, tls);
    } catch (error) {
      tls?.close();
      server.close();
      throw error;
    }
  }

  /** Names of the connected nodes, without hidden nodes. */
  get connections(): string[] {
    return this.#connections
      .all()
      .filter(({ visible }) => visible)
      .map(({ peer }) => peer);
  }

  /** True if this node is registered at EPMD, so that other nodes can find it. */
  get registered(): boolean {
    return this.#names.registered;
  }

  /** Number of pending calls. */
  get waitingCalls(): number {
    return this.#processRegistry.calls.waiting;
  }

  isConnected(node: string): boolean {
    return this.#connections.get(node) !== undefined;
  }

  /** Connects unless already connected. Resolves to true if the node is connected afterwards. Never throws. */
  connect(node: string): Promise<boolean> {
    return this.#connections.connect(node);
  }

  /** Disconnects a node, if it is connected. */
  disconnect(node: string): void {
    this.#connections.get(node)?.close('disconnected');
  }

  /** Milliseconds since the last data from a node; undefined if it is not connected. */
  idleTimeOf(node: string): number | undefined {
    return this.#connections.get(node)?.silence;
  }

  /** Disconnects a node that did not answer a probe. */
  markDown(node: string): void {
    this.#connections.get(node)?.close('unanswered');
  }

  /** Registers a service for requests and messages of other nodes. @throws Error if the name is already registered */
  register(name: string, service: Service): void {
    this.#processRegistry.register(name, service);
  }

  /** `gen_server:call({name, node}, request)`; `deadline`: timeout in milliseconds. @throws CallError */
  async call(node: string, name: string, request: Term, deadline: number): Promise<Term> {
    const connection = this.#connections.get(node);
    if (!connection) throw new CallError('noconnection', node);
    return this.#processRegistry.calls.call(connection, name, request, deadline);
  }

  /** Sends a plain message to a registered process, without confirmation. Returns true if the node is connected. */
  send(node: string, name: string, message: Term): boolean {
    const connection = this.#connections.get(node);
    if (connection) this.#processRegistry.send(connection, name, message);
    return connection !== undefined;
  }

  /** `gen_server:cast({name, node}, request)`. Returns true if the node is connected. */
  cast(node: string, name: string, request: Term): boolean {
    return this.send(node, name, tuple(new Atom('$gen_cast'), request));
  }

  /** Closes all connections and unregisters the name. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#tls?.close();
    this.#global.close();
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#connections.close();
    await Promise.all([closed, this.#names.close()]);
  }

  #up(connection: Connection): void {
    if (!connection.visible) return;
    this.emit('nodeUp', connection.peer);
    this.#global.nodeUp(connection.peer);
  }

  #down(connection: Connection, reason: DownReason): void {
    this.#processRegistry.calls.lost(connection);
    if (!connection.visible) return;
    this.#global.nodeDown(connection.peer);
    this.emit('nodeDown', connection.peer, reason);
  }
}

async function listenInRange(server: Server, ip: string | null, ports: ErlangNodeOptions['ports']): Promise<number> {
  if (!ports) return listenOn(server, ip, 0);
  for (let port = ports.min; port <= ports.max; port += 1) {
    try {
      return await listenOn(server, ip, port);
    } catch (error) {
      if (!isSystemError(error, 'EADDRINUSE', 'EACCES')) throw error;
    }
  }
  throw new Error(`No free port for the distribution from ${ports.min} to ${ports.max}`);
}
