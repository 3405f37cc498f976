// LiveKit session: the connection of a peer whose client speaks LiveKit's protocol, across successive sockets.
import { randomBytes } from 'node:crypto';
import { Pong, ReconnectResponse } from '@livekit/protocol';
import { type CloseCodeName, closeCodes } from '../../api/close-codes.ts';
import { ServiceError, toServiceError } from '../../api/errors.ts';
import { rtpCapabilitiesSchema } from '../../api/media-objects.ts';
import type { PeerEvent } from '../../api/socket/peer-events.ts';
import type { Log } from '../common/log.ts';
import { Timer } from '../common/timer.ts';
import type { CloseReason, PeerConnection } from '../rooms/interfaces.ts';
import type { Peer } from '../rooms/peers/peer.ts';
import type { RoomSession } from '../rooms/peers/room-session.ts';
import { type RenewedToken, TokenRenewal } from '../rooms/tokens/token-renewal.ts';
import type { RtpCapabilities } from '../sdp/codecs.ts';
import type { BinaryListener, BinarySocket } from '../websocket/binary-acceptor.ts';
import type { RatedPeer } from './connection-quality.ts';
import { DataChannels, isDataEvent, type RelayedPacket } from './data/data-channels.ts';
import { costOf, type HandlerContext, handleRequest, isResponse } from './handlers.ts';
import { trackSid } from './ids.ts';
import { openOneConnection, openTwoConnections, type SessionMedia } from './media/session-media.ts';
import { encode, iceServersOf, type LeaveCause, leaveMessage, type Message, serverInfo } from './messages.ts';
import { RequestQueue, type RequestQueueLimits, type RequestQueueOptions } from './request-queue.ts';
import { type Request, readRequest } from './requests.ts';
import { RoomView, trackReceivedMessage, unpublishedMessage } from './room-view.ts';

export type SessionLimits = RequestQueueLimits & {
  readonly pongTimeout: number;
  readonly minPongTimeout: number;
  readonly pauseDelay: number;
  readonly rejoinHold: number;
};
export type LiveKitSessionOptions = Pick<RequestQueueOptions, 'rateLimit' | 'work'> & {
  log: Log;
  limits: SessionLimits;
  iceServers: () => readonly Record<string, unknown>[];
  /** Name of a peer for clients. */
  identityOf: (peerId: string) => string;
  /** True if a peer is an agent. */
  isAgent: (peerId: string) => boolean;
  /** How long a lost socket may be resumed, in milliseconds. */
  resumeWindow: () => number;
  /** True if the client of a peer has the same protocol. */
  getsPackets: (peerId: string) => boolean;
  /** A token that expires later, for a client that joins again. Undefined if there is none. @throws ServiceError */
  renewToken: (token: string) => Promise<RenewedToken | undefined>;
  /** A token that tells when the client joins again. Undefined if there is none. @throws ServiceError */
  rejoinToken: (token: string) => Promise<string | undefined>;
  /** True: the client has such a token. */
  rejoin: boolean;
  /** True: once the client has joined, further events wait for a while. */
  holdEvents: boolean;
  /** False: the client subscribes to each track itself. */
  autoSubscribe: boolean;
  /** True: the client publishes as ConnectionQuery states. */
  fastPublish: boolean;
  /** True: the client has one peer connection. */
  single: boolean;
  /** Called once when the session has ended, for any reason. */
  ended: () => void;
};

/** Messages with which a client responds to a subscribed track. */
const responsesPerTrack = 4;
const maxHeldEvents = 10_000;

export class LiveKitSession implements PeerConnection {
  readonly sid = `PA_${randomBytes(12).toString('base64url')}`;
  readonly peer: Peer;
  readonly dataInNode = true;
  readonly #options: LiveKitSessionOptions;
  readonly #queue: RequestQueue;
  readonly #view: RoomView;
  #media: SessionMedia | undefined;
  /** Resolves when requests may use the media, or the session has ended. */
  readonly #joined = Promise.withResolvers<void>();
  #socket: BinarySocket | undefined;
  /** Events that wait until the client has joined and, if that is not its first time, handles events. Undefined after that. */
  #held: PeerEvent[] | undefined = [];
  #hold: Timer | undefined;
  #window: Timer | undefined;
  readonly #renewal: TokenRenewal;
  #token = '';
  #ended = false;

  constructor(peer: Peer, options: LiveKitSessionOptions) {
    this.peer = peer;
    this.#options = options;
    this.#queue = new RequestQueue(options);
    const { log, identityOf, isAgent, iceServers, renewToken, fastPublish, single } = options;
    this.#renewal = new TokenRenewal({ log, renew: () => renewToken(this.#token), renewed: (token) => this.#renewed(token) });
    const mayReceive = (publisherId: string, trackId: string) => peer.session.mayReceive(publisherId, trackId);
    this.#view = new RoomView({ peer, sid: this.sid, identityOf, isAgent, iceServers, mayReceive, fastPublish, single });
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Connects the peer and sends it the room. If that fails, the session ends. `requests`: of the client. @throws ServiceError of the room */
  async start(socket: BinarySocket, credentials: RenewedToken, requests: readonly Request[]): Promise<void> {
    this.#attach(socket, credentials);
    for (const request of requests) this.#enqueue(request, 0);
    try {
      // As in LiveKit, the newest connection of an identity wins.
      this.peer.connect(this, { takeover: true });
      await this.#join();
    } catch (error) {
      this.leave('joinFailed');
      throw error;
    }
  }

  /** Continues on another socket, and restarts ICE. `requests`: of the client. @throws ServiceError of the media */
  async resume(socket: BinarySocket, credentials: RenewedToken, requests: readonly Request[]): Promise<void> {
    this.#attach(socket, credentials);
    const iceServers = iceServersOf(this.#options.iceServers());
    const lastMessageSeq = this.#media?.data.lastSequence ?? 0;
    this.#send({ case: 'reconnect', value: new ReconnectResponse({ iceServers, serverInfo: serverInfo(), lastMessageSeq }) });
    const { publisher, receiver } = this.#media ?? {};
    for (const message of [...this.#view.missed(), ...(publisher?.missed() ?? [])]) this.#send(message);
    publisher?.dynacast.repeat();
    for (const request of requests) this.#enqueue(request, 0);
    await receiver?.resumed();
  }

  send(event: PeerEvent): void {
    if (this.#held) {
      this.#held.push(event);
      if (this.#held.length > maxHeldEvents) this.leave('internalError');
      return;
    }
    const { publisher, receiver } = this.#media ?? {};
    if (event.event === 'tracksSubscribed') {
      const { tracks } = event.data;
      this.#queue.allow(tracks.length * responsesPerTrack);
      receiver?.subscribed(tracks);
    } else if (event.event === 'trackUnsubscribed') receiver?.unsubscribed(event.data.trackId);
    else if (isDataEvent(event)) this.#media?.data.received(event);
    else if (event.event === 'layersChanged') this.#layersChanged(event.data);
    else {
      if (event.event === 'trackRemoved') publisher?.removed(event.data.trackId);
      for (const message of this.#view.messagesOf(event)) this.#send(message);
    }
  }

  relayed(packet: object): void {
    this.#media?.data.relayed(packet as RelayedPacket);
  }

  /** Agents wait for it before they speak. */
  trackReceived(trackId: string): void {
    if (this.#media?.publisher.received(trackId)) this.#send(trackReceivedMessage(trackSid(trackId)));
  }

  layerNeeded(trackId: string, layer: number | undefined): void {
    this.#media?.publisher.dynacast.need(trackId, layer);
  }

  receiversChanged(publisherId: string): void {
    for (const message of this.#view.permissionMessages(publisherId)) this.#send(message);
  }

  rated(peers: readonly RatedPeer[]): void {
    const message = this.#held || !this.#socket ? undefined : this.#view.qualityMessage(peers);
    if (message) this.#send(message);
  }

  pongTimeoutChanged(): void {
    const { pongTimeout, minPongTimeout } = this.#options.limits;
    this.#socket?.watch(Math.max(minPongTimeout, this.peer.timeout.pongTimeout(pongTimeout)));
  }

  close(reason: CloseReason): void {
    this.leave(reason);
  }

  /** Ends the session, after the client got what it should do next. Idempotent. */
  leave(cause: LeaveCause): void {
    this.#send(leaveMessage(cause));
    this.#end(cause in closeCodes ? (cause as CloseReason) : 'goingAway');
  }

  /** The client creates its connections while the media worker creates those of the node. */
  async #join(): Promise<void> {
    const welcome = await this.peer.welcome();
    if (this.#ended) return;
    const { session } = this.peer;
    const { limits } = this.#options;
    const capabilities = rtpCapabilitiesSchema.parse(welcome.rtpCapabilities);
    for (const message of this.#view.join(welcome, capabilities)) this.#send(message);
    const media = await this.#prepare(session, capabilities);
    if (this.#ended) return;
    this.#media = media;
    if (!this.#options.autoSubscribe) session.subscriptions.setMode('manual');
    session.audioLevels = true;
    this.#release();
    if (this.#options.holdEvents) {
      this.#held = [];
      this.#hold = new Timer(limits.rejoinHold, () => this.#release());
    }
    media.start();
    this.#joined.resolve();
    if (!this.#options.rejoin) await this.#sendRejoinToken();
  }

  #release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const event of held) this.send(event);
  }

  /** Without it the client can join again too. */
  async #sendRejoinToken(): Promise<void> {
    try {
      const token = await this.#options.rejoinToken(this.#token);
      if (token !== undefined && !this.#ended) this.#renewed(token);
    } catch (error) {
      this.#options.log.error({ err: error }, 'could not sign token of client');
    }
  }

  async #prepare(room: RoomSession, capabilities: RtpCapabilities): Promise<SessionMedia> {
    const { log, limits, single } = this.#options;
    return (single ? openOneConnection : openTwoConnections)({
      ...{ room, capabilities, pauseDelay: limits.pauseDelay, data: this.#createData(room) },
      send: (message) => this.#send(message),
      rejected: (sid, error, backup) => {
        log.info({ track: sid, backup, reason: error.message }, 'track of client rejected');
        if (!backup) this.#send(unpublishedMessage(sid));
      },
      // A client without a socket cannot respond; it negotiates again when it resumes.
      failed: (reason) => {
        if (this.#socket) this.#failed(reason);
      },
    });
  }

  #createData(room: RoomSession): DataChannels {
    const { log, identityOf, getsPackets } = this.#options;
    return new DataChannels({
      ...{ log, room, sid: this.sid, identity: identityOf(this.peer.id), identityOf, getsPackets },
      ...{ peerId: this.peer.id, agent: this.peer.rights.agent },
      trackOf: (sid) => this.#view.roster.trackId(sid),
      peerOf: (identity) => this.#view.roster.all.find((participant) => participant.identity === identity)?.id,
    });
  }

  /** The media worker also sends no layers of a track that the client does not show. */
  #layersChanged({ trackId, layers }: Extract<PeerEvent, { event: 'layersChanged' }>['data']): void {
    if (!this.#media?.receiver.visible.has(trackId)) return;
    const message = this.#view.streamMessage(trackId, layers !== null);
    if (message) this.#send(message);
  }

  /** `credentials`: with which the client authenticated the socket. */
  #attach(socket: BinarySocket, { token, expiresAt }: RenewedToken): void {
    this.#window?.stop();
    this.#token = token;
    this.#renewal.schedule(expiresAt);
    this.#socket?.close('takenOver');
    this.#socket = socket;
    this.pongTimeoutChanged();
    socket.listen(this.#listener(socket));
  }

  #listener(socket: BinarySocket): BinaryListener {
    return {
      message: (frame, bytes) => {
        if (this.#socket === socket) this.#receive(socket, frame, bytes);
      },
      lost: (_code, _reason, silentFor) => this.#lost(socket, silentFor),
    };
  }

  #receive(socket: BinarySocket, frame: Buffer, bytes: number): void {
    let request: Request | undefined;
    try {
      request = readRequest(frame);
    } catch (error) {
      this.#options.log.info({ reason: toServiceError(error).message }, 'invalid message of client');
      socket.refuse('malformed');
      return;
    }
    if (!this.#queue.take(bytes, request !== undefined && isResponse(request))) socket.refuse('tooFast');
    else if (request?.method === 'ping' || request?.method === 'pingReq') this.#pong(request);
    else if (request && !this.#enqueue(request, bytes)) socket.refuse('tooFast');
  }

  #renewed(token: string): void {
    this.#token = token;
    this.#send({ case: 'refreshToken', value: token });
  }

  /** Out of order: it shows that the connection is alive, regardless of slow requests before it. */
  #pong(request: Request & { method: 'ping' | 'pingReq' }): void {
    const now = BigInt(Date.now());
    if (request.method === 'ping') this.#send({ case: 'pong', value: now });
    else this.#send({ case: 'pongResp', value: new Pong({ lastPingTimestamp: request.data.timestamp, timestamp: now }) });
  }

  #enqueue(request: Request, bytes: number): boolean {
    return this.#queue.push({ bytes, cost: costOf(request), run: () => this.#handle(request) });
  }

  async #handle(request: Request): Promise<void> {
    if (request.method === 'leave') {
      this.#end('left');
      return;
    }
    await this.#joined.promise;
    const media = this.#media;
    if (!media || this.#ended) return;
    const context: HandlerContext = { ...media, peer: this.peer, view: this.#view, send: (message) => this.#send(message) };
    try {
      await handleRequest(context, request);
    } catch (error) {
      if (this.#ended) return;
      const { log } = this.#options;
      if (!(error instanceof ServiceError)) {
        log.error({ err: error }, 'request of client failed');
        this.peer.crash('request failed unexpectedly');
      } else if (error.code === 'offer_rejected') this.#failed(error.message);
      else log.info({ method: request.method, reason: error.message }, 'request of client rejected');
    }
  }

  /** Both sides disagree about the media: the client joins again. */
  #failed(reason: string): void {
    this.#options.log.warn({ reason }, 'could not negotiate with client');
    this.leave('internalError');
  }

  #send(message: Message): void {
    this.#socket?.send(encode(message));
  }

  /** Any close may be followed by a resume: clients also close with 1000 before they connect again, and leave with a message. */
  #lost(socket: BinarySocket, silentFor: number): void {
    if (this.#socket !== socket || this.#ended) return;
    this.#socket = undefined;
    const window = this.peer.timeout.resumeWindow(this.#options.resumeWindow(), silentFor);
    // A client that has not joined cannot resume.
    if (!this.#media) this.#end('left', silentFor);
    else this.#window = new Timer(window, () => this.#end('goingAway', silentFor + window));
  }

  /** `lostSince`: milliseconds without a socket. Idempotent. */
  #end(name: CloseCodeName, lostSince = 0): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#window?.stop();
    this.#hold?.stop();
    this.#renewal.stop();
    this.#queue.end();
    this.#joined.resolve();
    this.#media?.receiver.close();
    this.#media?.publisher.dynacast.close();
    this.#options.ended();
    this.peer.disconnect(lostSince);
    this.#socket?.close(name);
    this.#socket = undefined;
  }
}
