// Peer websocket server: authenticates peers, assigns sessions, and sends notices to all of them.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { ServiceError, toServiceError } from '../../api/errors.ts';
import { type RequestData, type ResponseData, requestSchemas } from '../../api/socket/peer.ts';
import type { PeerEvent } from '../../api/socket/peer-events.ts';
import { noTracer, type Span, type Tracer } from '../../tracing/spans.ts';
import type { Log } from '../common/log.ts';
import { TokenBucket } from '../common/token-bucket.ts';
import { WorkPayment } from '../common/work-payment.ts';
import type { Peer } from '../rooms/peers/peer.ts';
import type { PeerClaims } from '../rooms/tokens/peer-tokens.ts';
import { type RenewedToken, TokenRenewal } from '../rooms/tokens/token-renewal.ts';
import type { OriginRule } from '../websocket/origin.ts';
import type { TextSocket, TextSocketListener } from '../websocket/text-socket.ts';
import type { ClientAddress } from '../websocket/upgrade.ts';
import { Authentication, type AuthenticationOptions } from './authentication.ts';
import { ConnectionChecks } from './connection-checks.ts';
import { errorResponse, parseData, parseRequest } from './frames.ts';
import { defaultLimits, type Limits } from './limits.ts';
import { PeerSession } from './session.ts';
import { WebSocketAcceptor } from './websocket-acceptor.ts';

export type PeerSocketsOptions = AuthenticationOptions & {
  log: Log;
  /** The address of the client if another node proxies the socket; otherwise undefined. */
  forwardedFor?: ((request: IncomingMessage) => string | undefined) | undefined;
  signToken: (peer: { roomId: string; peerId: string }) => Promise<string>;
  iceServers: (peer: Pick<Peer, 'id' | 'roomId'>) => Record<string, unknown>[];
  /** Seconds. */
  resumeWindow: () => number;
  /** Messages per second and session; no limit if undefined or null. */
  rateLimit: () => number | null | undefined;
  checkOrigin: () => OriginRule;
  /** The `host[:port][/path]` of the node. */
  address: () => string;
  tracer?: Tracer;
  /** Traceparent of the request that created the room. */
  traceOf?: (roomId: string) => string | undefined;
  limits?: Partial<Limits>;
};

/** Cost of a fresh session and of a connection check: both create media transports and notify peers. */
const entryCost = 10;

/** `iceServers`: text of the last sent value. `span`: of its join, if that is traced. */
type Entry = { session: PeerSession; renewal: TokenRenewal; iceServers: string; span: Span | undefined };

export class PeerSockets {
  readonly #options: PeerSocketsOptions;
  readonly #limits: Limits;
  readonly #webSocketAcceptor: WebSocketAcceptor;
  readonly #authentication: Authentication;
  readonly #checks: ConnectionChecks;
  readonly #entries = new Map<Peer, Entry>();
  /** Request budget of each peer. It outlives the sessions, so that a new session does not reset it. */
  readonly #work = new WeakMap<Peer, TokenBucket>();
  #deadline: Date | null = null;

  constructor(options: PeerSocketsOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#authentication = new Authentication(options);
    this.#checks = new ConnectionChecks({ iceServers: options.iceServers, deadline: this.#limits.checkTimeout });
    this.#webSocketAcceptor = new WebSocketAcceptor({
      limits: this.#limits,
      checkOrigin: options.checkOrigin,
      address: options.address,
      authenticate: (socket, text, clientAddress) => this.#authenticate(socket, text, clientAddress),
      forwardedFor: options.forwardedFor,
    });
  }

  /** Number of sessions, including those with a lost socket. */
  get sessions(): number {
    return this.#entries.size;
  }

  /** Number of running connection checks. */
  get checks(): number {
    return this.#checks.size;
  }

  /** Number of open sockets, including unauthenticated ones. */
  get sockets(): number {
    return this.#webSocketAcceptor.sockets;
  }

  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, client?: string): void {
    this.#webSocketAcceptor.handleUpgrade(request, socket, head, client);
  }

  /** Notifies every peer, also those that join later, of the drain deadline; null: the drain was cancelled. */
  drainingNotice(deadline: Date | null): void {
    this.#deadline = deadline;
    for (const { session } of this.#entries.values()) session.send(draining(deadline));
  }

  /** Sends the STUN and TURN servers to every peer for which they changed. */
  iceServersUpdated(): void {
    for (const [peer, entry] of this.#entries) {
      const iceServers = this.#options.iceServers(peer);
      const text = JSON.stringify(iceServers);
      if (text === entry.iceServers) continue;
      entry.iceServers = text;
      entry.session.send({ event: 'iceServersUpdated', data: { iceServers } });
    }
  }

  /** Ends every session and closes every socket with 1001; resolves when all are closed. Idempotent. */
  async close(): Promise<void> {
    for (const { session } of [...this.#entries.values()]) session.end('goingAway');
    await this.#webSocketAcceptor.close();
  }

  async #authenticate(socket: TextSocket, text: string, clientAddress: ClientAddress): Promise<TextSocketListener | undefined> {
    const frame = parseRequest(text, this.#limits.depth);
    if (!frame) {
      socket.close('malformed');
      return undefined;
    }
    const { id, method } = frame.request;
    try {
      if (method !== 'authenticate' && method !== 'checkConnection')
        throw new ServiceError('missing_token', 'Expected the first request to be authenticate');
      const data: RequestData<'authenticate'> = parseData(requestSchemas[method], frame.request.data);
      const found = await this.#authentication.authenticate({ socket, text, data, clientAddress });
      if (!found || 'proxied' in found) return found?.proxied;
      const { peer, claims } = found;
      const fresh = method === 'checkConnection' || data.resume === undefined || this.#entries.get(peer)?.session.id !== data.resume;
      if (fresh) await new WorkPayment(this.workOf(peer)).pay(entryCost);
      if (!socket.open) return undefined;
      if (method === 'checkConnection') return await this.#checks.start(socket, id, peer);
      return await this.#enter(socket, id, peer, claims, data, clientAddress);
    } catch (error) {
      const answer = toServiceError(error);
      if (answer.code === 'internal') this.#options.log.error({ err: error }, 'peer authentication failed');
      socket.send(JSON.stringify(errorResponse(id, answer)));
      socket.close(answer.code === 'internal' ? 'internalError' : 'unauthenticated');
      return undefined;
    }
  }

  /** Request budget of a peer, for every door of peers. */
  workOf(peer: Peer): TokenBucket {
    const work =
      this.#work.get(peer) ??
      new TokenBucket(() => (typeof this.#options.rateLimit() === 'number' ? this.#limits.workRate : null), this.#limits.burst);
    this.#work.set(peer, work);
    return work;
  }

  async #enter(
    socket: TextSocket,
    id: number,
    peer: Peer,
    claims: PeerClaims,
    data: RequestData<'authenticate'>,
    clientAddress: ClientAddress,
  ): Promise<TextSocketListener | undefined> {
    const received = data.received ?? 0;
    const old = this.#entries.get(peer);
    const resumed = old !== undefined && data.resume === old.session.id && old.session.canResume(received);
    const entry = resumed ? old : this.#replace(old, peer, data, clientAddress);
    const { session, renewal } = entry;
    session.attach(socket);
    const welcome = await this.#welcome(session, socket, resumed).finally(() => !resumed && entry.span?.end());
    if (session.ended || !session.isOn(socket)) return undefined;
    const iceServers = this.#options.iceServers(peer);
    // A client that resumes its session keeps what it received last, until the next event.
    if (!resumed) entry.iceServers = JSON.stringify(iceServers);
    const answer: ResponseData<'authenticate'> = {
      sessionId: session.id,
      resumed,
      lastRequest: session.lastRequest,
      peerId: peer.id,
      roomId: peer.roomId,
      ...welcome,
      iceServers,
      svcAddress: this.#options.address(),
      resumeWindow: Math.round(session.resumeWindow / 1_000),
    };
    session.start({ id, ok: true, data: answer }, resumed ? received : 0);
    renewal.schedule(claims.expiresAt);
    return session.listener(socket);
  }

  async #newToken({ roomId, id: peerId }: Peer): Promise<RenewedToken | undefined> {
    const { signToken, verifyToken } = this.#options;
    const token = await signToken({ roomId, peerId });
    const claims = await verifyToken(token);
    return claims && { token, expiresAt: claims.expiresAt };
  }

  /** A join belongs to the trace of its handshake, else to that of its room. */
  #startSpan(peer: Peer, { trace }: ClientAddress): Span | undefined {
    const { tracer = noTracer, traceOf } = this.#options;
    const attributes = { 'mediarooms.room.id': peer.roomId, 'mediarooms.peer.id': peer.id };
    return tracer.start('join peer', 'server', { parent: trace ?? traceOf?.(peer.roomId), attributes });
  }

  /** Sends the state of the room to the peer. If that fails, a fresh session ends and a resumed one waits for the next socket. */
  async #welcome(session: PeerSession, socket: TextSocket, resumed: boolean): ReturnType<Peer['welcome']> {
    try {
      return await session.peer.welcome();
    } catch (error) {
      if (!(error instanceof ServiceError)) session.peer.crash('could not join the room');
      session.release(socket);
      if (!resumed) session.end('goingAway');
      throw error;
    }
  }

  /** Creates a fresh session if the old one is lost or may be taken over. @throws ServiceError `conflict` */
  #replace(old: Entry | undefined, peer: Peer, data: RequestData<'authenticate'>, clientAddress: ClientAddress): Entry {
    const own = old !== undefined && old.session.id === data.resume;
    // An access token may be used again and again: as in LiveKit, the newest socket of an identity wins, unless it lost a session.
    const takeover = data.takeover === true || (data.accessToken !== undefined && data.resume === undefined);
    if (old?.session.attached && !own && !takeover) throw new ServiceError('conflict', `Peer ${peer.id} is already connected`);
    old?.session.end('takenOver');
    const span = this.#startSpan(peer, clientAddress);
    const log = this.#options.log.child({ room: peer.roomId, peer: peer.id, client: clientAddress.address });
    const renewal = new TokenRenewal({
      log,
      renew: () => this.#newToken(peer),
      renewed: (token) => session.send({ event: 'tokenUpdated', data: { token } }),
    });
    const session = new PeerSession(peer, {
      log,
      limits: this.#limits,
      rateLimit: this.#options.rateLimit,
      work: this.workOf(peer),
      resumeWindow: this.#options.resumeWindow,
      ended: () => {
        renewal.stop();
        if (this.#entries.get(peer)?.session === session) this.#entries.delete(peer);
      },
    });
    // Its other connection may be that of an encoder.
    peer.connect(session, { takeover, span });
    if (this.#deadline) session.send(draining(this.#deadline));
    const entry = { session, renewal, iceServers: '', span };
    this.#entries.set(peer, entry);
    return entry;
  }
}

function draining(deadline: Date | null): PeerEvent {
  return { event: 'draining', data: { deadline: deadline?.toISOString() ?? null } };
}
