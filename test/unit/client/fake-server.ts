// Fake server: a peer WebSocket server with real sockets and scripted responses.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { TestContext } from 'node:test';
import { type WebSocket, WebSocketServer } from 'ws';
import type { EventData, JoinResponse, RequestFrame } from '../../../packages/client/src/generated/protocol.ts';
import { emits, eventually } from '../../kit/eventually.ts';
import { listen } from '../../kit/network/listen.ts';

export const emptyWelcome: JoinResponse = {
  sessionId: 'session-1',
  resumed: false,
  lastRequest: -1,
  peerId: 'me',
  roomId: 'room',
  incarnation: 'incarnation-1',
  permissions: { publish: ['audio', 'video'], subscribe: true, data: true },
  rtpCapabilities: {},
  iceServers: [],
  peers: [],
  components: [],
  activeSpeaker: null,
  svcAddress: 'localhost',
  resumeWindow: 30,
};

/** A queue of arriving items with awaiting consumers. */
class Queue<T> {
  readonly #come: T[] = [];
  readonly #waiting: ((value: T) => void)[] = [];

  push(value: T): void {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(value);
    else this.#come.push(value);
  }

  next(): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    if (this.#come.length > 0) resolve(this.#come.shift() as T);
    else this.#waiting.push(resolve);
    return promise;
  }

  get length(): number {
    return this.#come.length;
  }
}

export class FakeSocket {
  readonly webSocket: WebSocket;
  readonly closed: Promise<number>;
  readonly #frames = new Queue<RequestFrame>();
  /** Requests pipelined after an authentication that has no response yet. */
  readonly #early: RequestFrame[] = [];
  #welcomed = false;
  #count = 0;
  /** Methods that are answered automatically, with this data. */
  readonly #automatic = new Map<string, (frame: RequestFrame) => object>([['setFeatures', () => ({})]]);

  constructor(webSocket: WebSocket) {
    this.webSocket = webSocket;
    this.closed = once(webSocket, 'close').then(([code]) => code as number);
    webSocket.on('message', (data) => {
      const frame = JSON.parse(String(data)) as RequestFrame;
      this.#count += 1;
      if (frame.method === 'authenticate' || this.#welcomed) this.#take(frame);
      else this.#early.push(frame);
    });
  }

  get waiting(): number {
    return this.#frames.length;
  }

  /** Resolves when `count` frames arrived, answered or not. */
  async arrived(count: number): Promise<void> {
    await eventually(`${count} frames`, () => this.#count >= count, { wakes: emits(this.webSocket, 'message') });
  }

  /** The next request that is not answered automatically. */
  async next(): Promise<RequestFrame> {
    return this.#frames.next();
  }

  automatically(method: string, answer: (frame: RequestFrame) => object = () => ({})): this {
    this.#automatic.set(method, answer);
    return this;
  }

  /** Answered by the test from now on. */
  manually(method: string): this {
    this.#automatic.delete(method);
    return this;
  }

  async welcome(changes: Partial<JoinResponse> = {}): Promise<RequestFrame> {
    const frame = await this.next();
    this.answer(frame, { ...emptyWelcome, ...changes });
    this.#welcomed = true;
    for (const early of this.#early.splice(0)) this.#take(early);
    return frame;
  }

  #take(frame: RequestFrame): void {
    const automatic = this.#automatic.get(frame.method);
    if (automatic) this.answer(frame, automatic(frame));
    else this.#frames.push(frame);
  }

  answer({ id }: RequestFrame, data: object = {}): void {
    this.webSocket.send(JSON.stringify({ id, ok: true, data }));
  }

  refuse({ id }: RequestFrame, code: string, message = 'No'): void {
    this.webSocket.send(JSON.stringify({ id, ok: false, error: { code, message } }));
  }

  event<Name extends keyof EventData>(event: Name, data: EventData[Name]): void {
    this.webSocket.send(JSON.stringify({ event, data }));
  }

  /** Simulates a lost network. */
  cut(): void {
    this.webSocket.terminate();
  }
}

export type FakeServer = {
  url: string;
  /** The next opened socket. */
  next: () => Promise<FakeSocket>;
  /** Number of sockets opened so far. */
  opened: () => number;
  /** Number of sockets to accept and never answer. */
  swallow: (count: number) => void;
  swallowed: () => number;
  /** Runs for each new socket, before next() returns it. */
  prepare: (prepare: (socket: FakeSocket) => void) => void;
};

export async function startFakeServer(t: TestContext): Promise<FakeServer> {
  const server = new WebSocketServer({ noServer: true });
  const http = createServer();
  let swallowed = 0;
  let toSwallow = 0;
  http.on('upgrade', (request, raw, head) => {
    if (toSwallow > 0) {
      toSwallow -= 1;
      swallowed += 1;
      raw.on('error', () => {});
    } else server.handleUpgrade(request, raw, head, (webSocket) => server.emit('connection', webSocket, request));
  });
  const sockets = new Queue<FakeSocket>();
  let opened = 0;
  let prepare: (socket: FakeSocket) => void = () => {};
  server.on('connection', (webSocket) => {
    opened += 1;
    const socket = new FakeSocket(webSocket);
    prepare(socket);
    sockets.push(socket);
  });
  return {
    url: `ws://127.0.0.1:${await listen(t, http)}/socket/peer/websocket`,
    next: () => sockets.next(),
    opened: () => opened,
    swallow: (count) => {
      toSwallow = count;
    },
    swallowed: () => swallowed,
    prepare: (next) => {
      prepare = next;
    },
  };
}
