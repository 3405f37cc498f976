// Distribution connections: dials and accepts nodes, and keeps one of two simultaneous connections with a node.
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Log } from '../../common/log.ts';
import { Connection, type ConnectionLimits, connectionLimits, type DownReason } from './connection.ts';
import type { ControlMessage } from './control.ts';
import { openSocket } from './dialer.ts';
import type { DistTls } from './dist-tls.ts';
import { HalfOpen } from './handshake/half-open.ts';
import { acceptHandshake, dialHandshake, HandshakeError, type HandshakeResult, type Identity } from './handshake/handshake.ts';
import { HandshakeSocket, handshakeTimeoutMs } from './handshake/handshake-socket.ts';
import { LogThrottle } from './log-throttle.ts';
import { fitsMode, type NameMode, splitNodeName } from './node-names.ts';
import { WireError } from './wire-error.ts';

export type ConnectionsOptions = {
  own: Identity;
  mode: NameMode;
  epmdPort: number;
  /** Milliseconds, net_ticktime of Erlang. */
  tick: number;
  log: Log;
  limits?: ConnectionLimits;
  /** Without it connections are plain TCP. */
  tls?: DistTls | undefined;
  onUp: (connection: Connection) => void;
  onDown: (connection: Connection, reason: DownReason) => void;
  onMessage: (connection: Connection, message: ControlMessage) => void;
};

/** Grace period in milliseconds for a handshake that is almost complete. */
const lastMoment = 1000;
/** Maximum number of connected nodes, so that names alone cannot exhaust memory. */
const maxConnections = 1024;
/** Milliseconds during which a node that only supports the Erlang cookie proof is not dialed, so that it can dial this one. */
const leftAlone = 60_000;

type Dial = { done: Promise<boolean>; channel?: HandshakeSocket | undefined; socket?: Socket | undefined };

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #log: Log;
  readonly #own: Identity;
  readonly #up = new Map<string, Connection>();
  readonly #dials = new Map<string, Dial>();
  readonly #halfOpen = new HalfOpen();
  /** Nodes that are not dialed before this time, because their dials would collide with ours. */
  readonly #unbound = new Map<string, number>();
  /** Callers that wait for a node that is dialing this one. */
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #gate = new LogThrottle();
  #closed = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#own = options.own;
    this.#log = options.log;
  }

  get(node: string): Connection | undefined {
    return this.#up.get(node);
  }

  all(): Connection[] {
    return [...this.#up.values()];
  }

  /** Resolves to true if the node is connected afterwards. Concurrent callers share one attempt. Never throws. */
  connect(node: string): Promise<boolean> {
    if (this.#up.has(node)) return Promise.resolve(true);
    const known = this.#dials.get(node);
    if (known) return known.done;
    const parts = splitNodeName(node);
    if (this.#closed || node === this.#own.name || !parts || this.#isLeftAlone(node)) return Promise.resolve(false);
    if (!fitsMode(this.#options.mode, parts.host)) {
      this.#log.warn({ node, mode: this.#options.mode }, 'node unreachable: short and long node names mixed');
      return Promise.resolve(false);
    }
    const dial: Dial = { done: Promise.resolve(false) };
    this.#dials.set(node, dial);
    dial.done = this.#dial(node, parts, dial).finally(() => {
      if (this.#dials.get(node) === dial) this.#dials.delete(node);
    });
    return dial.done;
  }

  /** Accepts a socket from another node. */
  async accept(socket: Socket): Promise<void> {
    socket.on('error', () => {});
    if (this.#closed) {
      socket.destroy();
      return;
    }
    this.#halfOpen.enter(socket);
    const { remoteAddress } = socket;
    const since = performance.now();
    let channel: HandshakeSocket | undefined;
    try {
      const carrier = this.#options.tls ? await this.#options.tls.accept(socket) : socket;
      channel = new HandshakeSocket(carrier, handshakeTimeoutMs - (performance.now() - since));
      const decisions = { status: (peer: string) => this.#statusFor(peer), confirm: (peer: string) => this.#confirms(peer) };
      this.#adopt(await acceptHandshake(channel, this.#own, decisions));
    } catch (error) {
      this.#refused(error, remoteAddress);
      if (channel) channel.end(asError(error));
      else socket.destroy();
    } finally {
      this.#halfOpen.leave(socket);
    }
  }

  /** Closes all connections and attempts. Idempotent. */
  close(): void {
    this.#closed = true;
    const closed = new Error('this node is shutting down');
    this.#halfOpen.close();
    for (const { channel, socket } of this.#dials.values()) {
      channel?.abort(closed);
      socket?.destroy();
    }
    for (const connection of this.#up.values()) connection.close('disconnected');
    for (const waiters of this.#waiting.values()) for (const wake of waiters) wake();
  }

  async #dial(node: string, parts: { name: string; host: string }, dial: Dial): Promise<boolean> {
    try {
      const socket = await this.#open(parts, dial);
      // The node may have dialed this one while the socket was opened.
      if (this.#closed || this.#up.has(node)) {
        socket.destroy();
        return this.#up.has(node);
      }
      dial.channel = new HandshakeSocket(socket);
      const handshakeResult = await dialHandshake(dial.channel, this.#own, node, () => !this.#up.has(node));
      dial.channel = undefined;
      if (this.#up.has(node)) handshakeResult.socket.destroy();
      else this.#adopt(handshakeResult);
    } catch (error) {
      dial.channel?.abort(asError(error));
      if (this.#up.has(node)) return true;
      const reason = error instanceof HandshakeError ? error.reason : undefined;
      if (reason === 'simultaneous') return this.#waitFor(node, handshakeTimeoutMs);
      // A node that has just begun to dial this one also closes silently.
      if (reason === 'unanswered' && (await this.#waitFor(node, lastMoment))) return true;
      if (reason === 'unbound') this.#leaveAlone(node);
      this.#dialFailed(node, error);
    }
    return this.#up.has(node);
  }

  /** Opens a socket to a node, with TLS if configured. If TLS is optional and fails, falls back to plain TCP. */
  async #open(parts: { name: string; host: string }, dial: Dial): Promise<Socket> {
    const { tls, epmdPort } = this.#options;
    const socket = await openSocket(parts, epmdPort);
    if (!tls) return socket;
    dial.socket = socket;
    try {
      return await tls.dial(socket);
    } catch (error) {
      if (!tls.optional || this.#closed) throw error;
      return openSocket(parts, epmdPort);
    } finally {
      dial.socket = undefined;
    }
  }

  #isLeftAlone(node: string): boolean {
    return (this.#unbound.get(node) ?? 0) > performance.now();
  }

  #leaveAlone(node: string): void {
    const now = performance.now();
    for (const [each, until] of this.#unbound) if (until <= now) this.#unbound.delete(each);
    this.#unbound.set(node, now + leftAlone);
  }

  /** The remote node uses the connection that it dialed. Resolves to true if it is established in time. */
  #waitFor(node: string, time: number): Promise<boolean> {
    return new Promise((resolve) => {
      const waiters = this.#waiting.get(node) ?? new Set();
      this.#waiting.set(node, waiters);
      const wake = () => {
        clearTimeout(timer);
        waiters.delete(wake);
        if (waiters.size === 0) this.#waiting.delete(node);
        resolve(this.#up.has(node));
      };
      const timer = setTimeout(wake, time);
      waiters.add(wake);
    });
  }

  #statusFor(peer: string): 'ok' | 'ok_simultaneous' | 'nok' | 'not_allowed' | 'alive' {
    const host = splitNodeName(peer)?.host ?? '';
    if (this.#closed || peer === this.#own.name || !fitsMode(this.#options.mode, host)) return 'not_allowed';
    const known = this.#up.has(peer);
    if (!known && this.#up.size >= maxConnections) return 'not_allowed';
    if (known) return 'alive';
    if (this.#prefersOwnDial(peer)) return 'nok';
    return this.#dials.has(peer) ? 'ok_simultaneous' : 'ok';
  }

  /** If two nodes dial each other, the connection of the node with the greater name is kept, as in net_kernel of Erlang. */
  #prefersOwnDial(peer: string): boolean {
    return this.#dials.get(peer)?.channel !== undefined && !this.#up.has(peer) && this.#own.name > peer;
  }

  /**
   * If the own dial is preferred, the other connection stays open until the dial is complete: if it closed before an Erlang node has read
   * the own name packet, that node would report this one as unreachable.
   */
  async #confirms(peer: string): Promise<boolean> {
    if (!this.#prefersOwnDial(peer)) return true;
    await this.#dials.get(peer)?.done;
    return !this.#up.has(peer);
  }

  /** A connection is established. An existing connection with this node is obsolete: the node restarted, or lost it without our notice. */
  #adopt(handshake: HandshakeResult): void {
    const { peer } = handshake;
    if (this.#closed) {
      handshake.socket.destroy();
      return;
    }
    this.#up.get(peer)?.close('replaced');
    const { tick, onMessage, limits = connectionLimits } = this.#options;
    const listener = { message: onMessage, down: (connection: Connection, reason: DownReason) => this.#down(connection, reason) };
    const connection = new Connection({ handshake, tick, log: this.#log, listener, limits });
    this.#up.set(peer, connection);
    this.#log.info(
      { node: peer, nodes: this.#up.size + 1, proof: handshake.bound ? 'bound' : 'erlang', tls: handshake.socket instanceof TLSSocket },
      'connected to node',
    );
    this.#dials.get(peer)?.channel?.abort(new HandshakeError('simultaneous', peer));
    this.#options.onUp(connection);
    for (const wake of this.#waiting.get(peer) ?? []) wake();
    connection.start();
  }

  #down(connection: Connection, reason: DownReason): void {
    if (this.#up.get(connection.peer) === connection) this.#up.delete(connection.peer);
    const line = { node: connection.peer, reason, nodes: this.#up.size + 1 };
    if (reason === 'disconnected') this.#log.info(line, 'disconnected from node');
    else this.#log.warn(line, 'lost connection to node');
    this.#options.onDown(connection, reason);
  }

  #refused(error: unknown, address: string | undefined): void {
    if (this.#closed || (error instanceof HandshakeError && isHarmless(error))) return;
    // Port probes of load balancers must not cause warnings.
    if (!(error instanceof HandshakeError || error instanceof WireError)) {
      this.#log.debug({ address, err: error }, 'inbound distribution connection failed');
      return;
    }
    const held = this.#gate.pass();
    if (held === undefined) return;
    const line = { address, ...(held > 0 && { more: held }) };
    if (!(error instanceof HandshakeError)) this.#log.warn({ ...line, err: error }, 'invalid distribution handshake, closing connection');
    else this.#log.warn({ ...line, node: error.peer }, refusals[error.reason]);
  }

  #dialFailed(node: string, error: unknown): void {
    if (this.#closed) return;
    if (!(error instanceof HandshakeError)) this.#log.debug({ node, err: error }, 'node unreachable');
    else if (!isHarmless(error)) this.#log.warn({ node }, dialRefusals[error.reason]);
  }
}

const refusals: Record<HandshakeError['reason'], string> = {
  cookie: 'node rejected: wrong cookie',
  unanswered: 'node rejected: no proof of cookie',
  unbound: 'node not dialed: only supports the Erlang cookie proof (SVC_DIST_ERLANG)',
  flags: 'node rejected: its version is too old',
  not_allowed: 'node rejected: duplicate name or wrong name mode',
  simultaneous: 'node rejected: simultaneous dials',
  obsolete: 'node rejected: it no longer needs the connection',
};

const dialRefusals: Record<HandshakeError['reason'], string> = {
  ...refusals,
  cookie: 'rejected by remote node: cookies differ',
  unanswered: 'rejected by remote node without reason, cookies may differ',
  not_allowed: 'rejected by remote node: not allowed',
};

/** True for rejections that are normal when two nodes dial each other. */
function isHarmless({ reason }: HandshakeError): boolean {
  return reason === 'simultaneous' || reason === 'obsolete';
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
