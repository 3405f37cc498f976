// One websocket as both kinds of sockets use it: text frames of bounded size, a watch over its life, closing by our table.
import { isUtf8 } from 'node:buffer';
import type { RawData, WebSocket } from 'ws';
import { type CloseCodeName, closeCodes } from './close-codes.ts';
import type { Limits } from './limits.ts';

/** What drained() waits for: so little may still be waiting for the network, in bytes. */
const lowWater = 64 * 1024;

export type TextSocketListener = {
  /** One text frame; `bytes` is its size. */
  message: (text: string, bytes: number) => void;
  /**
   * The socket is gone, for whatever reason but our own close(); at most once. `code` as in RFC 6455, section 7.4: 1006 where there was no
   * closing handshake. `silentFor`: milliseconds that it has answered no ping, where it is cut for that; else 0.
   */
  lost: (code: number, reason: string, silentFor: number) => void;
  pong?: () => void;
};

/**
 * Owns a websocket and its timers. After close(), terminate() or the loss of the socket nothing is told any more and
 * nothing is sent.
 */
export class TextSocket {
  readonly #socket: WebSocket;
  readonly #limits: Limits;
  readonly #gone: Promise<void>;
  #listener: TextSocketListener;
  #maxBytes: number;
  #closing: NodeJS.Timeout | undefined;
  #open = true;
  #pongTimeout: number;
  #life: NodeJS.Timeout | undefined;
  #heardAt = performance.now();
  /** Whether a ping has no answer yet. */
  #asked = false;
  #drainWaiters: (() => void)[] = [];

  constructor(socket: WebSocket, limits: Limits, listener: TextSocketListener) {
    this.#socket = socket;
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
    // An error (a bad frame, one above ws's limit, a reset) is followed by `close`, which is what counts.
    socket.on('error', () => {});
    this.#gone = new Promise((resolve) => {
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

  /** Resolves when the socket is gone. */
  get gone(): Promise<void> {
    return this.#gone;
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  listen(listener: TextSocketListener): void {
    this.#listener = listener;
  }

  /** From now on it may answer no ping for so many milliseconds; two go in that time. */
  watch(pongTimeout: number): void {
    this.#pongTimeout = pongTimeout;
    this.#heardAt = performance.now();
    this.#checkIn(pongTimeout / 2);
  }

  /** A pong is told to the listener. */
  ping(): void {
    if (this.#open) this.#socket.ping();
  }

  /** Takes messages up to this size from now on. */
  allow(maxBytes: number): void {
    this.#maxBytes = maxBytes;
  }

  /** Sends a frame. Where the other side does not read, the socket is cut and reported as lost. */
  send(frame: string | Buffer): void {
    if (!this.#open) return;
    this.#socket.send(frame, { binary: false }, () => {
      if (this.#socket.bufferedAmount <= lowWater) this.#tellDrained();
    });
    if (this.#socket.bufferedAmount > this.#limits.bufferedBytes) this.#cut();
  }

  /** Resolves when the network has taken what was sent, but for a little, or the socket is gone. */
  drained(): Promise<void> {
    if (!this.#open || this.#socket.bufferedAmount <= lowWater) return Promise.resolve();
    return new Promise((resolve) => this.#drainWaiters.push(resolve));
  }

  /** Reads nothing until resume(): the client's own sending stops when the network is full. */
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

  /** Closes as another node did: `code` one that may be sent (RFC 6455, section 7.4). */
  closeAs(code: number, reason: string): void {
    if (!this.#open) return;
    this.#end();
    this.#socket.close(code, reason);
    // The answer to the closing frame must be read.
    this.#socket.resume();
    this.#closing = setTimeout(() => this.#socket.terminate(), this.#limits.closeTimeout);
  }

  /** Ends the connection at once, also while a close() is still waiting for the other side. */
  terminate(): void {
    this.#end();
    this.#socket.terminate();
  }

  #onMessage(data: RawData, binary: boolean): void {
    if (!this.#open) return;
    if (binary || !Buffer.isBuffer(data) || !isUtf8(data)) {
      this.refuse('malformed');
      return;
    }
    if (data.length > this.#maxBytes) {
      this.refuse('tooLarge');
      return;
    }
    this.#listener.message(data.toString('utf8'), data.length);
  }

  /** Closes because of what came, and says that the socket is lost: what hangs on it may be resumed. */
  refuse(name: CloseCodeName): void {
    this.close(name);
    this.#listener.lost(closeCodes[name].code, '', 0);
  }

  #checkIn(delay: number): void {
    clearTimeout(this.#life);
    // Answers that came while this process was busy are read before.
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
