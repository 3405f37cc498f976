// Connection: one session with the server over successive WebSockets, in which every frame and request is processed exactly once.
import { type Closing, closing, closingForCode, closingForError, isRecoverable, isResumable, type RejectedError } from './closing.ts';
import { type Credential, type CredentialOptions, Credentials } from './credentials.ts';
import { RoomClosedError } from './errors.ts';
import { internalErrorCode, tooFastCode, unauthenticatedCode } from './generated/close-codes.ts';
import type {
  JoinResponse,
  Method,
  RequestFrame,
  Requests,
  ResponseFrame,
  Responses,
  ServerEvent,
  ServerFrame,
} from './generated/protocol.ts';
import { Heartbeat } from './heartbeat.ts';
import { AdaptiveOpenTimeout } from './open-timeout.ts';
import { type Logger, retryDelay, type Timing, type WebSocketConstructor, type WebSocketLike } from './options.ts';
import { PendingRequests } from './pending.ts';

export type ConnectionOptions = CredentialOptions & {
  urls: readonly string[];
  takeover: boolean;
  webSocket: WebSocketConstructor;
  timing: Timing;
  /** Milliseconds without a session until it closes as `unreachable`; undefined: never. */
  giveUpAfter: () => number | undefined;
  logger: Logger;
  random?: () => number;
};

/**
 * A lost connection. `since`: start of the outage. `attempts`: number of reconnect attempts. `keptUntil`: until then the server keeps the
 * session, and other peers do not see this one leave; null: the session is lost.
 */
export type Outage = { since: Date; attempts: number; keptUntil: Date | null };

export type ConnectionListener = {
  /** A new session was requested; requests from now on are sent directly after, before the welcome. */
  opening: () => void;
  /** A new session exists; state of an older one is invalid. */
  welcome: (joinResponse: JoinResponse) => void;
  /** The socket was lost; requests are queued. */
  lost: () => void;
  /** Called on a loss and at each reconnect attempt. */
  outage: (outage: Outage) => void;
  /** The session was resumed without loss. */
  resumed: (joinResponse: JoinResponse) => void;
  event: (event: ServerEvent) => void;
  /** Closed permanently; no events follow. */
  closed: (closing: Closing) => void;
};

/** Milliseconds after which a session counts as stable. */
const stableAfter = 5_000;
const leaveTimeoutMs = 1_000;
/** `readyState` of an open websocket. */
const open = 1;

/** connect() -> welcome (-> lost -> resumed | welcome)* -> closed. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #listener: ConnectionListener;
  readonly #pending = new PendingRequests();
  readonly #stopListening: () => void;
  readonly #openTimeout: AdaptiveOpenTimeout;
  readonly #credentials: Credentials;
  #urls: string[];
  #socket: WebSocketLike | undefined;
  #session: string | undefined;
  /** The room of the last session. */
  #incarnation: string | undefined;
  /** Number of frames of the session received after its welcome. */
  #received = 0;
  #sendable = false;
  #attempt = 0;
  /** Start time of a socket that is opening; undefined once it is open. */
  #openingSince: number | undefined;
  #startedAt = 0;
  #stableAt = 0;
  /** In milliseconds. */
  #resumeWindow = 0;
  #unstable = 0;
  #asked = false;
  #serverFailed = false;
  /** True if the room was lost with its node, as far as the servers report. */
  #roomLost = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #heartbeat: Heartbeat | undefined;
  #outage: Outage | undefined;
  #closing: Closing | undefined;

  constructor(options: ConnectionOptions, listener: ConnectionListener) {
    this.#options = options;
    this.#listener = listener;
    this.#openTimeout = new AdaptiveOpenTimeout(options.timing);
    this.#urls = [...options.urls];
    this.#credentials = new Credentials(options);
    this.#stopListening = onOnline(() => this.#networkChanged());
  }

  /** True if an authenticated socket exists. */
  get live(): boolean {
    return this.#heartbeat !== undefined;
  }

  connect(): void {
    this.#startedAt = performance.now();
    this.#open();
  }

  /** Sends a request. Requests during an outage are queued for the next socket. `portable`: the request is valid in any session. */
  request<M extends Method>(method: M, data: Requests[M], portable = false): Promise<Responses[M]> {
    if (this.#closing) return Promise.reject(new RoomClosedError(this.#closing));
    try {
      const { id, answer } = this.#pending.add<Responses[M]>(method, data, portable);
      if (this.#sendable) this.#pending.send(id, (text) => this.#send(text));
      return answer;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Leaves, notifying the server if connected. Resolves when the socket is closed or after one second. */
  leave(): Promise<void> {
    const socket = this.#socket;
    const welcomed = this.#session !== undefined && this.#sendable;
    if (this.#closing || !socket) {
      this.close(closing('left'));
      return Promise.resolve();
    }
    if (welcomed) this.#send(JSON.stringify({ id: this.#pending.nextId(), method: 'leave', data: {} } satisfies RequestFrame));
    this.#socket = undefined;
    release(socket);
    this.close(closing('left'));
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, leaveTimeoutMs);
      socket.onclose = () => {
        clearTimeout(timer);
        resolve();
      };
      socket.close(1000);
    });
  }

  /** Closes without notifying the server. Idempotent. */
  close(why: Closing): void {
    if (this.#closing) return;
    this.#closing = why;
    this.#drop();
    this.#stopListening();
    this.#pending.fail(new RoomClosedError(why));
    this.#listener.closed(why);
  }

  #open(): void {
    const url = this.#urls[this.#attempt % this.#urls.length] ?? '';
    this.#attempt += 1;
    if (this.#outage) this.#tellOutage({ ...this.#outage, attempts: this.#outage.attempts + 1 });
    let socket: WebSocketLike;
    try {
      socket = new this.#options.webSocket(url);
    } catch (error) {
      this.#options.logger.warn?.(`could not open ${url}`, error);
      this.#lose(1006, '');
      return;
    }
    this.#socket = socket;
    const { limit } = this.#openTimeout;
    const began = performance.now();
    this.#openingSince = began;
    this.#timer = setTimeout(() => {
      this.#openTimeout.failed();
      this.#lose(1006, 'not open in time');
    }, limit);
    const authenticateId = this.#pending.nextId();
    let rejectedError: RejectedError | undefined;
    let welcomed = false;
    socket.onopen = () => {
      this.#opened(performance.now() - began);
      const credential = this.#credentials.current();
      if (credential instanceof Promise) void this.#authenticateLater(socket, authenticateId, credential);
      else this.#authenticate(authenticateId, credential);
    };
    socket.onerror = () => {};
    socket.onclose = (event: { code?: number; reason?: string }) => this.#lose(event.code ?? 1006, event.reason ?? '', rejectedError);
    socket.onmessage = (event: { data: unknown }) => {
      const frame = parse(event.data);
      if (!frame) return;
      this.#heartbeat?.heard();
      if (welcomed) this.#take(frame);
      else if ('id' in frame && frame.id === authenticateId) {
        welcomed = frame.ok;
        if (frame.ok) this.#welcome(frame.data as JoinResponse, url);
        else rejectedError = frame.error;
      }
    };
  }

  /** @param took milliseconds */
  #opened(took: number): void {
    clearTimeout(this.#timer);
    this.#openingSince = undefined;
    this.#openTimeout.opened(took);
    const left = Math.max(0, this.#options.timing.connectTimeout - took);
    this.#timer = setTimeout(() => this.#lose(1006, 'no welcome in time'), left);
  }

  async #authenticateLater(socket: WebSocketLike, id: number, requested: Promise<Credential>): Promise<void> {
    try {
      const credential = await requested;
      if (this.#socket === socket) this.#authenticate(id, credential);
    } catch (error) {
      this.#options.logger.warn?.('could not get an access token', error);
      if (this.#socket === socket) this.#lose(1006, 'no access token');
    }
  }

  #authenticate(id: number, credential: Credential): void {
    const fresh = this.#session === undefined;
    const resume = fresh ? {} : { resume: this.#session, received: this.#received };
    // An earlier authentication had no response: the connected socket of this peer is probably a lost one of this client.
    const takeover = this.#options.takeover || (fresh && this.#asked) ? { takeover: true } : {};
    const before = this.#incarnation === undefined ? {} : { incarnation: this.#incarnation };
    const data = { ...credential, ...resume, ...takeover, ...before };
    this.#send(JSON.stringify({ id, method: 'authenticate', data } satisfies RequestFrame));
    this.#asked = true;
    if (!fresh) return;
    this.#pending.repeat(-1, (text) => this.#send(text));
    this.#sendable = true;
    this.#listener.opening();
  }

  #welcome(joinResponse: JoinResponse, url: string): void {
    clearTimeout(this.#timer);
    this.#outage = undefined;
    this.#urls = [url, ...this.#urls.filter((each) => each !== url)];
    this.#attempt = 0;
    this.#resumeWindow = joinResponse.resumeWindow * 1_000;
    this.#asked = false;
    this.#serverFailed = false;
    this.#roomLost = false;
    this.#stableAt = performance.now() + stableAfter;
    const { pingInterval, silence } = this.#options.timing;
    this.#heartbeat = new Heartbeat({
      interval: pingInterval,
      silence,
      ping: () => this.#ping(),
      lost: () => this.#lose(1006, 'silence'),
    });
    const send = (text: string) => this.#send(text);
    if (joinResponse.resumed) {
      this.#pending.repeat(joinResponse.lastRequest, send);
      this.#sendable = true;
      this.#listener.resumed(joinResponse);
      return;
    }
    const first = this.#sendable;
    this.#session = joinResponse.sessionId;
    this.#incarnation = joinResponse.incarnation;
    this.#received = 0;
    if (!first) {
      this.#pending.sessionLost();
      this.#pending.repeat(-1, send);
    }
    this.#sendable = true;
    this.#listener.welcome(joinResponse);
  }

  #take(frame: ServerFrame): void {
    this.#received += 1;
    if ('id' in frame) {
      this.#pending.settle(frame);
      return;
    }
    if (frame.event === 'tokenUpdated') this.#credentials.renewed(frame.data.token);
    this.#listener.event(frame);
  }

  /** A closing socket discards frames and browsers log an error: its close event follows, and requests use the next socket. */
  #send(text: string): void {
    if (this.#socket?.readyState === open) this.#socket.send(text);
  }

  #ping(): void {
    const frame: RequestFrame = { id: this.#pending.nextId(), method: 'ping', data: { received: this.#received } };
    this.#send(JSON.stringify(frame));
  }

  #networkChanged(): void {
    if (this.#closing) return;
    this.#openTimeout.forget();
    if (this.#heartbeat) this.#heartbeat.probe();
    else if (!this.#socket && this.#startedAt > 0) {
      clearTimeout(this.#timer);
      this.#attempt = 0;
      this.#open();
    }
  }

  #lose(code: number, reason: string, refusal?: RejectedError): void {
    if (this.#closing) return;
    const hadSession = this.#heartbeat !== undefined;
    const spent = this.#openingSince === undefined ? 0 : performance.now() - this.#openingSince;
    this.#openingSince = undefined;
    this.#drop();
    const ending = refusal ? this.#endingOfRefusal(refusal) : closingForCode(code, reason);
    if (ending && (!refusal || code === unauthenticatedCode)) {
      this.close(ending);
      return;
    }
    this.#options.logger.debug?.('websocket lost', { code, reason, refusal });
    if (code === internalErrorCode) this.#serverFailed = true;
    if (this.#session === undefined || !isResumable(code)) {
      this.#session = undefined;
      this.#pending.sessionLost();
    }
    if (hadSession) {
      this.#startedAt = performance.now();
      // Reconnects at once after the first loss, but not after repeated losses of a session.
      this.#unstable = this.#startedAt < this.#stableAt ? this.#unstable + 1 : 0;
      this.#attempt = code === tooFastCode ? 3 : Math.max(0, this.#unstable - 1);
      this.#listener.lost();
      const kept = this.#session === undefined ? null : new Date(Date.now() + this.#resumeWindow);
      this.#tellOutage({ since: new Date(), attempts: 0, keptUntil: kept });
    }
    this.#retry(spent);
  }

  #endingOfRefusal(rejectedError: RejectedError): Closing | undefined {
    const lost = this.#incarnation !== undefined && !this.#serverFailed && isRecoverable(rejectedError);
    if (!lost) return closingForError(rejectedError, this.#serverFailed);
    this.#roomLost = true;
    const waited = performance.now() - this.#startedAt;
    return waited < this.#options.timing.lostRoom ? undefined : closing('notFound', unauthenticatedCode, rejectedError.message);
  }

  /**
   * @param spent milliseconds of the last attempt; they count, so that sockets that hang are retried as often as those that fail at once
   */
  #retry(spent: number): void {
    if (this.#closing) return;
    const { giveUpAfter, timing, random = Math.random } = this.#options;
    const limit = giveUpAfter();
    const left = limit === undefined ? Number.POSITIVE_INFINITY : this.#startedAt + limit - performance.now();
    const resumable = this.#session !== undefined && performance.now() - this.#startedAt < this.#resumeWindow;
    const longest = resumable ? timing.resumePause : this.#roomLost ? timing.lostRoomPause : Number.POSITIVE_INFINITY;
    const delay = Math.max(0, retryDelay(this.#attempt, timing.retryDelays, random(), longest) - spent);
    this.#timer = setTimeout(() => (delay <= left ? this.#open() : this.close(closing('unreachable'))), Math.max(0, Math.min(delay, left)));
  }

  #tellOutage(outage: Outage): void {
    this.#outage = outage;
    this.#listener.outage(outage);
  }

  /** Closes the socket and stops its timers. */
  #drop(): void {
    clearTimeout(this.#timer);
    this.#heartbeat?.stop();
    this.#heartbeat = undefined;
    this.#sendable = false;
    const socket = this.#socket;
    this.#socket = undefined;
    if (!socket) return;
    release(socket);
    socket.close();
  }
}

/** Removes all listeners of a socket. */
function release(socket: WebSocketLike): void {
  socket.onopen = null;
  socket.onmessage = null;
  socket.onclose = null;
  // The package `ws` throws errors without a listener, for example if a socket is closed while connecting.
  socket.onerror = () => {};
}

function parse(data: unknown): ServerFrame | undefined {
  if (typeof data !== 'string') return undefined;
  try {
    const frame = JSON.parse(data) as ResponseFrame | ServerEvent | null;
    return typeof frame === 'object' && frame !== null && ('id' in frame || 'event' in frame) ? frame : undefined;
  } catch {
    return undefined;
  }
}

/** Calls back when the browser is online again; never outside browsers. */
function onOnline(callback: () => void): () => void {
  const target = globalThis as { addEventListener?: typeof addEventListener; removeEventListener?: typeof removeEventListener };
  if (typeof target.addEventListener !== 'function') return () => {};
  target.addEventListener('online', callback);
  return () => target.removeEventListener?.('online', callback);
}
