// Frame socket: common base of all websockets of clients, with bounded frames, pings, and closing by our code table.
import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import { type CloseCodeName, closeCodes } from '../../api/close-codes.ts';

/** Buffer size in bytes at which drained() resolves. */
const lowWater = 64 * 1024;

/** Times in milliseconds, sizes in bytes. */
export type FrameSocketLimits = {
  readonly firstMessageBytes: number;
  /** Maximum size of the send buffer. */
  readonly bufferedBytes: number;
  readonly pongTimeout: number;
  /** Timeout of the closing handshake. */
  readonly closeTimeout: number;
};

/** `read`: the frame of its bytes; undefined if they are invalid. */
export type FrameFormat<Frame> = { binary: boolean; read: (data: Buffer) => Frame | undefined };
export const binaryFrames: FrameFormat<Buffer> = { binary: true, read: (data) => data };

export type FrameSocketListener<Frame> = {
  /** One frame; `bytes` is its size. */
  message: (frame: Frame, bytes: number) => void;
  /**
   * The socket closed for any reason other than our close(); called at most once. `code` as in RFC 6455, section 7.4: 1006 without a
   * closing handshake. `silentFor`: milliseconds without a pong if it was terminated for that; else 0.
   */
  lost: (code: number, reason: string, silentFor: number) => void;
  pong?: () => void;
};

/** Owns a websocket and its timers. After close(), terminate() or the loss of the socket it sends and reports nothing. */
export class FrameSocket<Frame extends string | Buffer> {
  readonly #socket: WebSocket;
  /** The connection of the websocket. */
  readonly #raw: Duplex;
  readonly #limits: FrameSocketLimits;
  readonly #format: FrameFormat<Frame>;
  readonly #closed: Promise<void>;
  #listener: FrameSocketListener<Frame>;
  #maxBytes: number;
  #closing: NodeJS.Timeout | undefined;
  #open = true;
  #pongTimeout: number;
  #life: NodeJS.Timeout | undefined;
  #heardAt = performance.now();
  /** True while a ping has no pong. */
  #asked = false;
  #drainWaiters: (() => void)[] = [];
  /** True while frames wait for the end of this turn of the event loop. */
  #gathering = false;
  readonly #onSent = () => {
    if (this.#socket.bufferedAmount <= lowWater) this.#tellDrained();
  };

  constructor(socket: WebSocket, raw: Duplex, limits: FrameSocketLimits, format: FrameFormat<Frame>, listener: FrameSocketListener<Frame>) {
    this.#socket = socket;
    this.#format = format;
    this.#raw = raw;
    this.#limits = limits;
    this.#listener = listener;
    this.#maxBytes = limits.firstMessageBytes;
    this.#pongTimeout = limits.pongTimeout;
    this.#checkIn(this.#pongTimeout / 2);
    socket.on('pong', () => {
      this.#heardAt = performance.now();
      this.#asked = false;
      this.#listener.pong?.();
    });
    socket.on('message', (data, binary) => this.#onMessage(data, binary));
    // An error (invalid frame, limit of ws, reset) is always followed by `close`, which is handled.
    socket.on('error', () => {});
    this.#closed = new Promise((resolve) => {
      socket.on('close', (code, reason) => {
        clearTimeout(this.#closing);
        this.#lose(code, reason.toString());
        this.#tellDrained();
        resolve();
      });
    });
  }

  get open(): boolean {
    return this.#open;
  }

  /** Resolves when the socket is closed. */
  get closed(): Promise<void> {
    return this.#closed;
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  listen(listener: FrameSocketListener<Frame>): void {
    this.#listener = listener;
  }

  /** Sets the maximum time without a pong in milliseconds. Two pings are sent during that time. */
  watch(pongTimeout: number): void {
    this.#pongTimeout = pongTimeout;
    this.#heardAt = performance.now();
    this.#checkIn(pongTimeout / 2);
  }

  /** A pong is reported to the listener. */
  ping(): void {
    if (this.#open) this.#socket.ping();
  }

  /** Sets the maximum size of messages. */
  allow(maxBytes: number): void {
    this.#maxBytes = maxBytes;
  }

  /**
   * Sends a frame, with all frames of this turn of the event loop in one write. If the remote does not read, the socket is terminated and
   * reported as lost.
   */
  send(frame: string | Buffer): void {
    if (!this.#open) return;
    this.#gather();
    this.#socket.send(frame, { binary: this.#format.binary }, this.#onSent);
    if (this.#socket.bufferedAmount > lowWater) this.#write();
    if (this.#socket.bufferedAmount > this.#limits.bufferedBytes) this.#cut();
  }

  /** Resolves when the send buffer is almost empty or the socket is closed. */
  drained(): Promise<void> {
    if (!this.#open || this.#socket.bufferedAmount <= lowWater) return Promise.resolve();
    return new Promise((resolve) => this.#drainWaiters.push(resolve));
  }

  /** Stops reading until resume(): TCP backpressure then stops the client. */
  pause(): void {
    if (this.#open) this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(name: CloseCodeName): void {
    const { code, reason } = closeCodes[name];
    this.closeAs(code, reason);
  }

  /** Closes with the code of another node, which must be sendable (RFC 6455, section 7.4). */
  closeAs(code: number, reason: string): void {
    if (!this.#open) return;
    this.#end();
    this.#socket.close(code, reason);
    // The response to the close frame must be read.
    this.#socket.resume();
    this.#closing = setTimeout(() => this.#socket.terminate(), this.#limits.closeTimeout);
  }

  /** Closes the connection immediately, even while a close() waits for the remote. */
  terminate(): void {
    this.#end();
    // A close frame before it must leave.
    this.#write();
    this.#socket.terminate();
  }

  #onMessage(data: RawData, binary: boolean): void {
    if (!this.#open) return;
    const frame = binary === this.#format.binary && Buffer.isBuffer(data) ? this.#format.read(data) : undefined;
    if (frame === undefined || !Buffer.isBuffer(data)) this.refuse('malformed');
    else if (data.length > this.#maxBytes) this.refuse('tooLarge');
    else this.#listener.message(frame, data.length);
  }

  /** Closes because of an invalid message and reports the socket as lost: its session may be resumed. */
  refuse(name: CloseCodeName): void {
    this.close(name);
    this.#listener.lost(closeCodes[name].code, '', 0);
  }

  #gather(): void {
    if (this.#gathering) return;
    this.#gathering = true;
    this.#raw.cork();
    setImmediate(() => this.#write());
  }

  #write(): void {
    if (!this.#gathering) return;
    this.#gathering = false;
    this.#raw.uncork();
  }

  #checkIn(delay: number): void {
    clearTimeout(this.#life);
    // Pongs that arrived while this process was busy are read first.
    this.#life = setTimeout(() => setImmediate(() => this.#checkLife()), delay);
  }

  #checkLife(): void {
    if (!this.#open) return;
    const pongTimeout = this.#pongTimeout;
    const silentFor = performance.now() - this.#heardAt;
    if (silentFor >= pongTimeout && this.#asked) {
      this.#cut(silentFor);
      return;
    }
    this.#asked = true;
    this.#socket.ping();
    this.#checkIn(silentFor < pongTimeout ? Math.min(pongTimeout / 2, pongTimeout - silentFor) : pongTimeout / 2);
  }

  #cut(silentFor = 0): void {
    this.terminate();
    this.#listener.lost(1006, '', silentFor);
  }

  #lose(code: number, reason: string): void {
    if (!this.#open) return;
    this.#end();
    this.#listener.lost(code, reason, 0);
  }

  #tellDrained(): void {
    for (const tell of this.#drainWaiters.splice(0)) tell();
  }

  #end(): void {
    this.#open = false;
    clearTimeout(this.#life);
  }
}
