// A node of the Erlang distribution: Erlang's own nodes see it as one of theirs.
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
  /** Whether nodes are dialled that know Erlang's proof of the cookie only; they are not where left out. */
  dialsErlang?: boolean;
  /** null: plain. */
  tls?: DistTlsConfig | null;
  /** Where distribution and EPMD listen; null: on all addresses. */
  ip: string | null;
  /** null: any free port. */
  ports: { min: number; max: number } | null;
  /** Milliseconds; Erlang's net_ticktime. A node is lost after one to one and a quarter of it without a byte. */
  tick: number;
  log: Log;
  epmdPort?: number;
  limits?: ConnectionLimits;
};

export type ErlangNodeEvents = { nodeUp: [node: string]; nodeDown: [node: string, reason: DownReason] };

/** Listeners of its events must not throw. Hidden nodes (remote shells) may connect and call, but are no nodes to anybody here. */
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
    server.on('error', (error) => options.log.error({ err: error }, 'the distribution failed to take a connection'));
  }

  /** @throws Error, one sentence, where the name, the ports or the name at EPMD cannot be had */
  static async start(options: ErlangNodeOptions): Promise<ErlangNode> {
    const parts = splitNodeName(options.name);
    if (!parts || !fitsMode(options.mode, parts.host)) throw new Error(`${options.name} is no name of a node in mode ${options.mode}`);
    const tls = options.tls ? new DistTls(options.tls, options.log) : undefined;
    // Whoever comes before the node has its name at EPMD comes too early.
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

  /** Names of the connected nodes, without hidden ones. */
  get connections(): string[] {
    return this.#connections
      .all()
      .filter(({ visible }) => visible)
      .map(({ peer }) => peer);
  }

  /** Whether the name service of this machine is part of this node. */
  get servesEpmd(): boolean {
    return this.#names.serving;
  }

  /** Whether EPMD knows this node, so that others can find it. */
  get registered(): boolean {
    return this.#names.registered;
  }

  /** Calls that wait for their answers. */
  get waitingCalls(): number {
    return this.#processRegistry.calls.waiting;
  }

  isConnected(node: string): boolean {
    return this.#connections.get(node) !== undefined;
  }

  /** Connects unless it is; whether it is then. Never throws. */
  connect(node: string): Promise<boolean> {
    return this.#connections.connect(node);
  }

  /** Ends the connection to a node, if there is one. */
  disconnect(node: string): void {
    this.#connections.get(node)?.close('disconnected');
  }

  /** Milliseconds since anything came from a node; undefined where it is not connected. */
  idleTimeOf(node: string): number | undefined {
    return this.#connections.get(node)?.silence;
  }

  /** Takes a node for lost that gave no sign of life. */
  markDown(node: string): void {
    this.#connections.get(node)?.close('unanswered');
  }

  /** Gives a name to what other nodes can call and send to. @throws Error where the name is taken */
  register(name: string, service: Service): void {
    this.#processRegistry.register(name, service);
  }

  /** `gen_server:call({name, node}, request)`; `deadline` in milliseconds. @throws CallError */
  async call(node: string, name: string, request: Term, deadline: number): Promise<Term> {
    const connection = this.#connections.get(node);
    if (!connection) throw new CallError('noconnection', node);
    return this.#processRegistry.calls.call(connection, name, request, deadline);
  }

  /** A plain message to a registered process. Whether the node is connected; nothing says that it arrives. */
  send(node: string, name: string, message: Term): boolean {
    const connection = this.#connections.get(node);
    if (connection) this.#processRegistry.send(connection, name, message);
    return connection !== undefined;
  }

  /** `gen_server:cast({name, node}, request)`. Whether the node is connected. */
  cast(node: string, name: string, request: Term): boolean {
    return this.send(node, name, tuple(new Atom('$gen_cast'), request));
  }

  /** Ends all connections, and gives the name up. Idempotent. */
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
  throw new Error(`No port from ${ports.min} to ${ports.max} is free for the distribution`);
}
