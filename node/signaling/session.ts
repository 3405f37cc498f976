// Peer session: processes requests in order and numbers responses and events, across successive sockets.
import { randomBytes } from 'node:crypto';
import { type CloseCodeName, closeCodes } from '../../api/close-codes.ts';
import { ServiceError } from '../../api/errors.ts';
import { requestSchemas, type SocketResponse } from '../../api/socket/peer.ts';
import type { PeerEvent } from '../../api/socket/peer-events.ts';
import type { Log } from '../common/log.ts';
import { Timer } from '../common/timer.ts';
import { TokenBucket } from '../common/token-bucket.ts';
import { WorkPayment } from '../common/work-payment.ts';
import type { CloseReason, PeerConnection } from '../rooms/interfaces.ts';
import type { Peer } from '../rooms/peers/peer.ts';
import type { TextSocket, TextSocketListener } from '../websocket/text-socket.ts';
import { errorResponse, parseData, parseRequest, type Request } from './frames.ts';
import type { Limits } from './limits.ts';
import { SendQueue } from './outbox.ts';
import { answersOffer, costOf, handleRequest, isHeld } from './requests.ts';
import { answerFrame, eventFrame } from './wire-frames.ts';

export type SessionOptions = {
  log: Log;
  limits: Limits;
  /** Messages per second. */
  rateLimit: () => number | null | undefined;
  /** Request budget, shared by all sessions of the peer. */
  work: TokenBucket;
  /** Seconds during which a lost socket may be resumed. */
  resumeWindow: () => number;
  /** Called once when the session has ended, for any reason. */
  ended: () => void;
};

type QueuedRequest = { request: Request; refusal: SocketResponse | undefined; bytes: number; free: boolean };

/**
 * State: attached -> lost -> attached ... -> ended. It ends by leave, by a close with code 1000, by the domain, by a newer session, or at
 * the end of the resume window. An ended session holds no resources, and the peer is disconnected.
 */
export class PeerSession implements PeerConnection {
  readonly id = randomBytes(18).toString('base64url');
  readonly peer: Peer;
  readonly #options: SessionOptions;
  readonly #sendQueue: SendQueue;
  readonly #bucket: TokenBucket;
  #socket: TextSocket | undefined;
  /** False until the socket received the response to authenticate. Until then frames are only queued. */
  #live = false;
  #window: Timer | undefined;
  #waiting: QueuedRequest[] = [];
  #waitingBytes = 0;
  #waitingFree = 0;
  /** Requests that answer offers of the server. Their number is not chosen by the client. */
  #freeAnswers = 0;
  #working = false;
  /** Delay until the cost of previous requests is paid. */
  readonly #payment: WorkPayment;
  /** Messages dropped because of a slow socket and not reported to it yet. */
  #dropped = 0;
  #lastRequest = -1;
  /** Requests up to this id arrived before the last resume. If the client repeats them, they are not executed again. */
  #repeated = -1;
  #ended = false;

  constructor(peer: Peer, options: SessionOptions) {
    this.peer = peer;
    this.#options = options;
    this.#sendQueue = new SendQueue(options.limits, eventFrame({ event: 'dataDropped', data: { messages: 1 } }));
    this.#payment = new WorkPayment(options.work);
    this.#bucket = new TokenBucket(options.rateLimit, options.limits.burst);
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** True if a socket is attached and not known to be lost. */
  get attached(): boolean {
    return this.#socket !== undefined;
  }

  /** Time during which a socket lost now may be resumed, in milliseconds. */
  get resumeWindow(): number {
    return this.peer.timeout.resumeWindow(this.#options.resumeWindow() * 1_000);
  }

  /** True if all frames after this one are still queued. */
  canResume(received: number): boolean {
    return !this.#ended && this.#sendQueue.after(received) !== undefined;
  }

  /** Replaces the socket. Frames are sent after start(). */
  attach(socket: TextSocket): void {
    this.#window?.stop();
    this.#live = false;
    this.#socket?.close('takenOver');
    this.#socket = socket;
    this.pongTimeoutChanged();
  }

  isOn(socket: TextSocket): boolean {
    return this.#socket === socket;
  }

  /** The value of lastRequest in the response to authenticate: requests up to it were accepted, and their responses follow. */
  get lastRequest(): number {
    return this.#lastRequest;
  }

  /** Sends the response to authenticate, then the frames after `received`, then live frames. */
  start(answer: SocketResponse, received: number): void {
    const frames = this.#sendQueue.after(received);
    const socket = this.#socket;
    if (!socket) return;
    // A limit was reached after canResume(): the client retries and gets a fresh session.
    if (!frames) {
      this.#cut(socket);
      return;
    }
    this.#sendQueue.acknowledge(received);
    this.#repeated = this.#lastRequest;
    socket.send(answerFrame(answer));
    for (const frame of frames) socket.send(frame);
    this.#live = this.#socket === socket;
  }

  /** Detaches the socket without closing it: this one will not be used, but the next one may be. */
  release(socket: TextSocket): void {
    this.#socketLost(socket, 1006);
  }

  /** Listener of the attached socket. */
  listener(socket: TextSocket): TextSocketListener {
    return {
      message: (text, bytes) => {
        if (this.#socket === socket) this.#receive(socket, text, bytes);
      },
      lost: (code, _, silentFor) => this.#socketLost(socket, code, silentFor),
    };
  }

  /** Messages of peers that the socket does not read in time are dropped, without effect on other peers and the session. */
  send(event: PeerEvent): void {
    const { freeAnswers, freeAnswersPerOffer } = this.#options.limits;
    this.#freeAnswers = Math.min(this.#freeAnswers + offersIn(event) * freeAnswersPerOffer, freeAnswers);
    if (event.event === 'audioLevels') this.#sendLevels(event);
    else if (event.event !== 'data' && event.event !== 'transcriptAdded') this.#push(eventFrame(event));
    else if (this.#live && this.#socket && this.#socket.bufferedBytes > this.#options.limits.dataBufferedBytes) this.#drop(this.#socket);
    else this.#push(eventFrame(event), true);
    if (event.event === 'admitted') this.#continue();
  }

  /** The next levels replace those that the socket cannot take. */
  #sendLevels(event: PeerEvent): void {
    if (this.#live && this.#socket && this.#socket.bufferedBytes <= this.#options.limits.dataBufferedBytes)
      this.#push(eventFrame(event), true);
  }

  pongTimeoutChanged(): void {
    const { pongTimeout, minPongTimeout } = this.#options.limits;
    this.#socket?.watch(Math.max(minPongTimeout, this.peer.timeout.pongTimeout(pongTimeout)));
  }

  close(reason: CloseReason): void {
    this.end(reason);
  }

  /** Ends the session: closes its socket and disconnects the peer. `lostSince`: milliseconds without a socket. Idempotent. */
  end(name: CloseCodeName, lostSince = 0): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#window?.stop();
    this.#payment.end();
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#waitingFree = 0;
    this.#options.ended();
    this.peer.disconnect(lostSince);
    this.#socket?.close(name);
    this.#socket = undefined;
  }

  #push(frame: Buffer, isData = false): void {
    if (this.#ended) return;
    this.#sendQueue.push(frame, isData);
    if (this.#live) this.#socket?.send(frame);
  }

  #answer(answer: SocketResponse): void {
    this.#push(answerFrame(answer));
  }

  #drop(socket: TextSocket): void {
    this.#dropped += 1;
    if (this.#dropped > 1) return;
    void socket.drained().then(() => {
      const messages = this.#dropped;
      this.#dropped = 0;
      this.#push(eventFrame({ event: 'dataDropped', data: { messages } }));
    });
  }

  #receive(socket: TextSocket, text: string, bytes: number): void {
    const { limits } = this.#options;
    const cost = 1 + Math.floor(bytes / limits.bytesPerMessage);
    const frame = parseRequest(text, limits.depth);
    const free = cost === 1 && this.#freeAnswers > 0 && frame !== undefined && answersOffer(frame.request.method);
    if (free) this.#freeAnswers -= 1;
    else if (!this.#bucket.take(cost)) {
      socket.refuse('tooFast');
      return;
    }
    if (!frame) {
      socket.refuse('malformed');
      return;
    }
    const { request } = frame;
    if (request.id <= this.#repeated) return;
    if (request.id <= this.#lastRequest) {
      const message = `Expected id to be greater than ${this.#lastRequest}, got: ${request.id}`;
      this.#answer(errorResponse(request.id, new ServiceError('bad_request', message)));
      return;
    }
    const held = this.peer.admission.waiting !== undefined && isHeld(request.method) && !frame.refusal;
    const full = this.#isFull(bytes, { free, held });
    if (full && !held) {
      socket.refuse('tooFast');
      return;
    }
    this.#lastRequest = request.id;
    // Answered out of order: it shows that the connection is alive, regardless of slow requests before it.
    if (request.method === 'ping' && !frame.refusal) {
      this.#ping(request);
      return;
    }
    if (full) {
      const error = new ServiceError('too_many_requests', 'This peer waits to be admitted, and too many of its requests are held');
      this.#answer(errorResponse(request.id, error));
      return;
    }
    this.#waiting.push({ request, refusal: frame.refusal, bytes, free });
    this.#waitingBytes += bytes;
    if (free) this.#waitingFree += 1;
    this.#continue();
  }

  /** True if no further request may be queued. */
  #isFull(bytes: number, { free, held }: { free: boolean; held: boolean }): boolean {
    const { waitingRequests, waitingBytes, heldRequests, heldBytes } = this.#options.limits;
    const [maxRequests, maxBytes] = held ? [heldRequests, heldBytes] : [waitingRequests, waitingBytes];
    return this.#waitingBytes + bytes > maxBytes || (!free && this.#waiting.length - this.#waitingFree >= maxRequests);
  }

  #continue(): void {
    if (!this.#working) void this.#work();
  }

  #ping({ id, data }: Request): void {
    try {
      const { received } = parseData(requestSchemas.ping, data);
      if (received !== undefined) this.#sendQueue.acknowledge(received);
      this.#answer({ id, ok: true, data: {} });
    } catch (error) {
      this.#fail(id, error);
    }
  }

  async #work(): Promise<void> {
    this.#working = true;
    for (let next = this.#next(); next && !this.#ended; next = this.#next()) {
      this.#waitingBytes -= next.bytes;
      if (next.free) this.#waitingFree -= 1;
      if (next.refusal) this.#answer(next.refusal);
      else await this.#handle(next.request);
    }
    this.#working = false;
  }

  /** Requests of a peer that waits to be admitted are held, except the few that it may send. */
  #next(): QueuedRequest | undefined {
    const { waiting } = this.peer.admission;
    const index = waiting ? this.#waiting.findIndex(({ request, refusal }) => refusal || !isHeld(request.method)) : 0;
    return index < 0 ? undefined : this.#waiting.splice(index, 1)[0];
  }

  async #handle(request: Request): Promise<void> {
    await this.#payment.pay(costOf(this.peer, request.method));
    if (this.#ended) return;
    try {
      if (request.method === 'authenticate') throw new ServiceError('conflict', 'This socket is already authenticated');
      if (request.method === 'leave') return this.#leave(request);
      this.#answer({ id: request.id, ok: true, data: await handleRequest(this.peer, request) });
    } catch (error) {
      this.#fail(request.id, error);
    }
  }

  #leave({ id, data }: Request): void {
    parseData(requestSchemas.leave, data);
    this.#answer({ id, ok: true, data: {} });
    this.end('left');
  }

  #fail(id: number, error: unknown): void {
    if (this.#ended) return;
    if (error instanceof ServiceError) {
      this.#answer(errorResponse(id, error));
      return;
    }
    this.#options.log.error({ err: error }, 'request of peer failed');
    this.peer.crash('request failed unexpectedly');
  }

  #cut(socket: TextSocket): void {
    socket.terminate();
    this.#socketLost(socket, 1006);
  }

  #socketLost(socket: TextSocket, code: number, silentFor = 0): void {
    if (this.#socket !== socket || this.#ended) return;
    this.#socket = undefined;
    this.#live = false;
    if (code === closeCodes.left.code) {
      this.end('left');
      return;
    }
    const window = this.peer.timeout.resumeWindow(this.#options.resumeWindow() * 1_000, silentFor);
    this.#window = new Timer(window, () => this.end('goingAway', silentFor + window));
  }
}

/** Number of tracks that the event announces. */
function offersIn({ event, data }: PeerEvent): number {
  if (event === 'tracksSubscribed') return data.tracks.length;
  return event === 'trackSubscribed' || event === 'dataTrackSubscribed' ? 1 : 0;
}
