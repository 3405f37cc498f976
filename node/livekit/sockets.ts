// Websockets of LiveKit clients: authenticates them at any node, and starts or resumes their sessions at the owning node of their room.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { ServiceError, toServiceError } from '../../api/errors.ts';
import type { TokenBucket } from '../common/token-bucket.ts';
import { WorkPayment } from '../common/work-payment.ts';
import type { AccessAdmission } from '../rooms/access-admission.ts';
import type { Peer } from '../rooms/peers/peer.ts';
import type { ProxySocket } from '../rooms/proxied-socket.ts';
import type { Access } from '../rooms/tokens/access-claims.ts';
import {
  BinaryAcceptor,
  type BinaryAcceptorLimits,
  type BinaryAcceptorOptions,
  type BinaryListener,
  type BinarySocket,
  type UpgradeRequest,
} from '../websocket/binary-acceptor.ts';
import { forwardedSocket } from '../websocket/proxied-session.ts';
import { QualityReports, type QualityReportsOptions } from './connection-quality.ts';
import { type ConnectionQuery, readConnection, splitUrl } from './connection-query.ts';
import { encode, type LeaveCause, leaveMessage, refusalCause } from './messages.ts';
import { LiveKitSession, type LiveKitSessionOptions, type SessionLimits } from './session.ts';

export type LiveKitSocketsOptions = Omit<BinaryAcceptorOptions, 'authenticate' | 'limits'> &
  Pick<LiveKitSessionOptions, 'rateLimit' | 'resumeWindow'> &
  Pick<QualityReportsOptions, 'statsOf'> & {
    limits: BinaryAcceptorLimits & SessionLimits & { readonly qualityInterval: number };
    access: Pick<AccessAdmission, 'verify' | 'renew' | 'forRejoin' | 'isLocal' | 'openRoom' | 'enter'>;
    /** Proxies the socket of a client whose room is on another node. */
    forward: ProxySocket;
    /** Request budget of a peer, shared with its other connections. */
    workOf: (peer: Peer) => TokenBucket;
    iceServers: (peer: Peer) => readonly Record<string, unknown>[];
    findPeer: (roomId: string, peerId: string) => Peer | undefined;
  };

/** Cost of a session: it creates media transports and notifies peers. */
const entryCost = 10;

type Entering = { access: Access; query: ConnectionQuery; request: UpgradeRequest; socket: BinarySocket };

export class LiveKitSockets {
  readonly #options: LiveKitSocketsOptions;
  readonly #acceptor: BinaryAcceptor;
  readonly #sessions = new Map<Peer, LiveKitSession>();
  readonly #qualities: QualityReports;

  constructor(options: LiveKitSocketsOptions) {
    this.#options = options;
    this.#acceptor = new BinaryAcceptor({ ...options, authenticate: (request) => this.#authenticate(request) });
    const { log, limits, statsOf } = options;
    this.#qualities = new QualityReports({ log, interval: limits.qualityInterval, sessions: () => this.#sessions.values(), statsOf });
  }

  /** Number of sessions, including those with a lost socket. */
  get size(): number {
    return this.#sessions.size;
  }

  handleUpgrade(request: IncomingMessage, raw: Duplex, head: Buffer, client?: string): void {
    this.#acceptor.handleUpgrade(request, raw, head, client);
  }

  /** Ends every session; clients join again. Resolves when all sockets are closed. Idempotent. */
  async close(): Promise<void> {
    this.#qualities.stop();
    for (const session of [...this.#sessions.values()]) session.leave('roomMoved');
    await this.#acceptor.close();
  }

  async #authenticate(request: UpgradeRequest): Promise<(socket: BinarySocket) => BinaryListener> {
    const query = readConnection(request);
    const access = await this.#options.access.verify(query.token);
    return (socket) => {
      // After its listener was set, which a proxy replaces.
      queueMicrotask(() => void this.#enter({ access, query, request, socket }));
      return waiting(socket);
    };
  }

  async #enter(entering: Entering): Promise<void> {
    const { access, query, socket } = entering;
    const { log } = this.#options;
    try {
      const peer = await this.#admit(entering);
      if (peer) await this.#start(peer, entering);
    } catch (error) {
      const failure = toServiceError(error);
      if (failure.code === 'internal') log.error({ err: error }, 'LiveKit client could not join');
      else log.info({ room: access.roomId, code: failure.code, reason: failure.message }, 'LiveKit client rejected');
      dismiss(socket, refusalCause(failure, query.reconnect));
    }
  }

  /** @returns undefined if another node has the room, or the client left meanwhile. @throws ServiceError of openRoom() and enter() */
  async #admit(entering: Entering): Promise<Peer | undefined> {
    const { access, query, request, socket } = entering;
    const { access: admission } = this.#options;
    if (!admission.isLocal(access)) {
      if ((await this.#proxy(entering)) || !socket.open) return undefined;
      // Which incarnation a client that resumes was in is not known.
      const incarnation = query.reconnect ? '' : undefined;
      await admission.openRoom(access, { forwarded: request.client.forwarded, incarnation });
      if (!admission.isLocal(access) && (await this.#proxy(entering))) return undefined;
    }
    return socket.open ? admission.enter(access) : undefined;
  }

  /** At most one proxy hop: if nodes disagree about the owner of a room, its sockets must not loop. @returns true if another node has the room */
  async #proxy({ access, query, request, socket }: Entering): Promise<boolean> {
    if (request.client.forwarded || !socket.open) return false;
    const { socket: forwarded, listener } = forwardedSocket(socket, {
      path: pathOf(request, query.token),
      binary: true,
      client: request.client,
      ending: () => socket.send(encode(leaveMessage('proxyClosed'))),
    });
    socket.listen(listener);
    if (await this.#options.forward(access.roomId, forwarded)) return true;
    if (socket.open) socket.listen(waiting(socket));
    return false;
  }

  async #start(peer: Peer, { access, query, socket }: Entering): Promise<void> {
    if (!peer.admission.permitted)
      throw new ServiceError('conflict', `Peer ${peer.id} is not admitted to the room; a client of LiveKit cannot wait for it`);
    const credentials = { token: query.token, expiresAt: access.expiresAt };
    const old = this.#sessions.get(peer);
    if (query.reconnect) {
      if (old && old.sid === query.resume) await old.resume(socket, credentials, query.requests);
      else dismiss(socket, 'resumeFailed');
      return;
    }
    await new WorkPayment(this.#options.workOf(peer)).pay(entryCost);
    if (!socket.open) return;
    await this.#open(peer, query, access).start(socket, credentials, query.requests);
  }

  #open(peer: Peer, { autoSubscribe, fastPublish, single, delaysEvents }: ConnectionQuery, { rejoin }: Access): LiveKitSession {
    const { log, limits, rateLimit, resumeWindow, workOf, iceServers, access } = this.#options;
    const find = (peerId: string) => this.#options.findPeer(peer.roomId, peerId);
    const session: LiveKitSession = new LiveKitSession(peer, {
      ...{ limits, rateLimit, resumeWindow, autoSubscribe, fastPublish, single, work: workOf(peer) },
      ...{ rejoin, holdEvents: rejoin && delaysEvents },
      log: log.child({ room: peer.roomId, peer: peer.id }),
      iceServers: () => iceServers(peer),
      renewToken: (token) => access.renew(token),
      rejoinToken: (token) => access.forRejoin(token),
      // A peer has the name that its backend gave it.
      identityOf: (peerId) => find(peerId)?.externalId ?? peerId,
      isAgent: (peerId) => find(peerId)?.rights.agent === true,
      getsPackets: (peerId) => {
        const other = find(peerId);
        return other !== undefined && this.#sessions.has(other);
      },
      ended: () => {
        if (this.#sessions.get(peer) === session) this.#sessions.delete(peer);
      },
    });
    this.#sessions.set(peer, session);
    this.#qualities.start();
    return session;
  }
}

/** Of a socket whose client waits for the first message of the server, before which it sends nothing. */
function waiting(socket: BinarySocket): BinaryListener {
  return { message: () => socket.refuse('malformed'), lost: () => {} };
}

/** Closes a socket without a session. */
function dismiss(socket: BinarySocket, cause: LeaveCause): void {
  socket.send(encode(leaveMessage(cause)));
  socket.close('goingAway');
}

/** At the owning node, clients that authenticate with a header have their token in the query. */
function pathOf({ url }: UpgradeRequest, token: string): string {
  const { path, query } = splitUrl(url);
  query.set('access_token', token);
  return `${path}?${query}`;
}
