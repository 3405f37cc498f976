// Raw websocket client controlled by the test: no timers, no resuming, unmodified frames.
import { once } from 'node:events';
import { type ClientOptions, WebSocket } from 'ws';
import { emits, eventually } from '../eventually.ts';

export type Frame = Record<string, unknown>;
export type EventFrame = { event: string; data: Record<string, unknown> };
export type AnswerFrame = { id: number; ok: boolean; data?: Record<string, unknown>; error?: { code: string; message: string } };
export type Closing = { code: number; reason: string };
export type EnteredSocket = PeerSocket & { welcome: AnswerFrame };

/** Timeout of every wait, in milliseconds. */
const timeoutMs = 40_000;

export class PeerSocket {
  /** The received frames, in order. */
  readonly frames: Frame[] = [];
  readonly closed: Promise<Closing>;
  readonly webSocket: WebSocket;
  #nextId = 1;

  private constructor(webSocket: WebSocket) {
    this.webSocket = webSocket;
    this.closed = new Promise((resolve) => {
      webSocket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
    });
    webSocket.on('error', () => {});
    webSocket.on('message', (data) => this.frames.push(JSON.parse(data.toString()) as Frame));
  }

  /** Opens a socket, for example `ws://127.0.0.1:5002/socket/peer/websocket`. Rejects if the upgrade is rejected. */
  static async open(url: string, options: ClientOptions = {}): Promise<PeerSocket> {
    const webSocket = new WebSocket(url, { perMessageDeflate: false, ...options });
    const socket = new PeerSocket(webSocket);
    await once(webSocket, 'open');
    return socket;
  }

  /** Opens a socket and authenticates. */
  static async enter(url: string, token: string, more: Record<string, unknown> = {}): Promise<EnteredSocket> {
    const socket = await PeerSocket.open(url);
    const welcome = await socket.request('authenticate', { token, ...more });
    return Object.assign(socket, { welcome });
  }

  /** Sends a request and resolves with its response, including error responses. */
  async request(method: string, data: Record<string, unknown> = {}, id: number = this.#nextId): Promise<AnswerFrame> {
    const answer = this.#wait((frame) => frame.id === id, this.frames.length);
    this.send({ id, method, data });
    return (await answer) as AnswerFrame;
  }

  /** Sends a request without waiting; its response is among the frames. Returns its id. */
  post(method: string, data: Record<string, unknown> = {}): number {
    const id = this.#nextId;
    this.send({ id, method, data });
    return id;
  }

  /** Sends a frame: strings and bytes unchanged, everything else as JSON. */
  send(frame: unknown): void {
    if (typeof frame === 'object' && frame !== null && 'id' in frame && typeof frame.id === 'number') {
      this.#nextId = Math.max(this.#nextId, frame.id + 1);
    }
    this.webSocket.send(typeof frame === 'string' || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame));
  }

  events(name?: string): EventFrame[] {
    return (this.frames.filter((frame) => 'event' in frame) as EventFrame[]).filter((frame) => name === undefined || frame.event === name);
  }

  /** The first event with that name, past or future, whose data satisfies the predicate. */
  async waitFor(event: string, predicate: (data: Record<string, unknown>) => boolean = () => true): Promise<Record<string, unknown>> {
    const frame = await this.#wait((each) => each.event === event && predicate(each.data as Record<string, unknown>), 0);
    return (frame as EventFrame).data;
  }

  /** The response to the request with this id, past or future. */
  async answer(id: number): Promise<AnswerFrame> {
    return (await this.#wait((frame) => frame.id === id, 0)) as AnswerFrame;
  }

  close(code?: number): Promise<Closing> {
    this.webSocket.close(code);
    return this.closed;
  }

  /** Cuts the connection without a closing handshake, like a lost network. */
  cut(): Promise<Closing> {
    this.webSocket.terminate();
    return this.closed;
  }

  /** The first matching frame from that one on, past or future. */
  #wait(matches: (frame: Frame) => boolean, from: number): Promise<Frame> {
    const check = () => {
      const found = this.frames.slice(from).find(matches);
      if (!found && this.webSocket.readyState === WebSocket.CLOSED) throw new Error('the socket is closed');
      return found;
    };
    const what = () => `the frame arrives; received are ${JSON.stringify(this.frames).slice(0, 2_000)}`;
    return eventually(what, check, { within: timeoutMs, wakes: emits(this.webSocket, 'message', 'close') });
  }
}
