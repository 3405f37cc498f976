// The session of one peer: requests in order, answers and events counted, over one socket after another.
import { randomBytes } from 'node:crypto';
import { ServiceError } from '../common/errors.ts';
import type { Log } from '../common/log.ts';
import { Timer } from '../common/timer.ts';
import { TokenBucket } from '../common/token-bucket.ts';
import { type CloseReason, closeReasons, type PeerConnection } from '../rooms/interfaces.ts';
import type { Peer } from '../rooms/peer.ts';
import type { PeerEvent } from '../rooms/shapes/peer-events.ts';
import { type CloseCodeName, closeCodes } from './close-codes.ts';
import { errorResponse, parseData, parseRequest, type Request } from './frames.ts';
import type { Limits } from './limits.ts';
import { requestSchemas, type SocketResponse } from './messages.ts';
import { SendQueue } from './outbox.ts';
import { answersOffer, costOf, handleRequest } from './requests.ts';
import type { TextSocket, TextSocketListener } from './text-socket.ts';
import { answerFrame, eventFrame } from './wire-frames.ts';

export type SessionOptions = {
  log: Log;
  limits: Limits;
  /** Messages a second. */
  rateLimit: () => number | null | undefined;
  /** What requests cost is taken from it; the peer's, whichever session it has. */
  work: TokenBucket;
  /** Seconds that a lost socket may be resumed in. */
  resumeWindow: () => number;
  /** The session is over, by whatever cause; called once. */
  ended: () => void;
};

const namesOfReasons: Record<CloseReason, CloseCodeName> = {
  [closeReasons.peerRemoved]: 'peerRemoved',
  [closeReasons.roomStopped]: 'roomStopped',
  [closeReasons.internalError]: 'internalError',
  [closeReasons.takenOver]: 'takenOver',
  [closeReasons.roomClosedByShutdown]: 'roomMoved',
};

/**
 * attached -> lost -> attached ... -> ended. Ended by leave, by a close with code 1000, by the domain, by a newer session,
 * or when no socket came within the resume window; then it holds nothing and the peer is disconnected.
 */
export class PeerSession implements PeerConnection {
  readonly id = randomBytes(18).toString('base64url');
  readonly peer: Peer;
  readonly #options: SessionOptions;
  readonly #sendQueue: SendQueue;
  readonly #bucket: TokenBucket;
  #socket: TextSocket | undefined;
  /** Frames wait in the outbox alone until the socket has had its answer to authenticate. */
  #live = false;
  #window: Timer | undefined;
  #waiting: { request: Request; refusal: SocketResponse | undefined; bytes: number; free: boolean }[] = [];
  #waitingBytes = 0;
  #waitingFree = 0;
  /** Requests that may answer what the server offered: how many of them there are is not the client's choice. */
  #freeAnswers = 0;
  #working = false;
  /** Until requests before have been paid for. */
  #pause: { timer: Timer; over: () => void } | undefined;
  /** Messages that the socket did not take in time and that it was not told of yet. */
  #dropped = 0;
  #lastRequest = -1;
  /** Requests up to here came before the last resume: what the client repeats of them was done already. */
  #repeated = -1;
  #ended = false;

  constructor(peer: Peer, options: SessionOptions) {
    this.peer = peer;
    this.#options = options;
    this.#sendQueue = new SendQueue(options.limits, eventFrame({ event: 'dataDropped', data: { messages: 1 } }));
    this.#bucket = new TokenBucket(options.rateLimit, options.limits.burst);
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Whether a socket is there, as far as anybody knows. */
  get attached(): boolean {
    return this.#socket !== undefined;
  }

  /** How long a socket that is lost now may be resumed, in milliseconds. */
  get resumeWindow(): number {
    return this.peer.resumeWindow(this.#options.resumeWindow() * 1_000);
  }

  /** Whether everything that follows this frame is still here. */
  canResume(received: number): boolean {
    return !this.#ended && this.#sendQueue.after(received) !== undefined;
  }

  /** Takes this socket in place of any other; frames flow after start(). */
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

  /** The number for the answer to authenticate: what came up to here is done or will be, and its answers follow. */
  get lastRequest(): number {
    return this.#lastRequest;
  }

  /** Sends the answer to authenticate, then the frames that follow `received`, then everything as it comes. */
  start(answer: SocketResponse, received: number): void {
    const frames = this.#sendQueue.after(received);
    const socket = this.#socket;
    if (!socket) return;
    // The bound was reached since canResume(): the client asks again and gets a fresh session.
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

  /** Lets the socket go without closing it: this one will not be used, the next may be. */
  release(socket: TextSocket): void {
    this.#socketLost(socket, 1006);
  }

  /** What listens to the socket that is attached now. */
  listener(socket: TextSocket): TextSocketListener {
    return {
      message: (text, bytes) => {
        if (this.#socket === socket) this.#receive(socket, text, bytes);
      },
      lost: (code, _, silentFor) => this.#socketLost(socket, code, silentFor),
    };
  }

  /** Messages of peers that the socket does not take in time are lost: nobody else's, and never the session. */
  send(event: PeerEvent): void {
    const { freeAnswers, freeAnswersPerOffer } = this.#options.limits;
    if (event.event === 'trackSubscribed') this.#freeAnswers = Math.min(this.#freeAnswers + freeAnswersPerOffer, freeAnswers);
    if (event.event !== 'data') this.#push(eventFrame(event));
    else if (this.#live && this.#socket && this.#socket.bufferedBytes > this.#options.limits.dataBufferedBytes) this.#drop(this.#socket);
    else this.#push(eventFrame(event), true);
  }

  pongTimeoutChanged(): void {
    const { pongTimeout, minPongTimeout } = this.#options.limits;
    this.#socket?.watch(Math.max(minPongTimeout, this.peer.pongTimeout(pongTimeout)));
  }

  close(reason: CloseReason): void {
    this.end(namesOfReasons[reason]);
  }

  /** Ends the session: its socket closes, the peer disconnects. `lostSince`: milliseconds without a socket. Idempotent. */
  end(name: CloseCodeName, lostSince = 0): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#window?.stop();
    this.#pause?.timer.stop();
    this.#pause?.over();
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
      const sentence = `Expected id to be greater than ${this.#lastRequest}, got: ${request.id}`;
      this.#answer(errorResponse(request.id, new ServiceError('bad_request', sentence)));
      return;
    }
    if ((!free && this.#waiting.length - this.#waitingFree >= limits.waitingRequests) || this.#waitingBytes + bytes > limits.waitingBytes) {
      socket.refuse('tooFast');
      return;
    }
    this.#lastRequest = request.id;
    // Answered out of turn: it says that the connection lives, however long the request before it takes.
    if (request.method === 'ping' && !frame.refusal) {
      this.#ping(request);
      return;
    }
    this.#waiting.push({ request, refusal: frame.refusal, bytes, free });
    this.#waitingBytes += bytes;
    if (free) this.#waitingFree += 1;
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
    for (let next = this.#waiting.shift(); next && !this.#ended; next = this.#waiting.shift()) {
      this.#waitingBytes -= next.bytes;
      if (next.free) this.#waitingFree -= 1;
      if (next.refusal) this.#answer(next.refusal);
      else await this.#handle(next.request);
    }
    this.#working = false;
  }

  async #handle(request: Request): Promise<void> {
    await this.#pay(costOf(this.peer, request.method));
    if (this.#ended) return;
    try {
      if (request.method === 'authenticate') throw new ServiceError('conflict', 'This socket has authenticated already');
      if (request.method === 'leave') return this.#leave(request);
      this.#answer({ id: request.id, ok: true, data: await handleRequest(this.peer, request) });
    } catch (error) {
      this.#fail(request.id, error);
    }
  }

  /** Requests that cost more than the peer has left wait, and those behind them: nobody honest is refused. */
  async #pay(cost: number): Promise<void> {
    const delay = cost === 0 ? 0 : this.#options.work.charge(cost);
    if (delay === 0) return;
    await new Promise<void>((over) => {
      this.#pause = { timer: new Timer(delay, over), over };
    });
    this.#pause = undefined;
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
    this.#options.log.error({ err: error }, 'a request of a peer failed');
    this.peer.crash('a request failed unexpectedly');
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
    const window = this.peer.resumeWindow(this.#options.resumeWindow() * 1_000, silentFor);
    this.#window = new Timer(window, () => this.end('goingAway', silentFor + window));
  }
}
