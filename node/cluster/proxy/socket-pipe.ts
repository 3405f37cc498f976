// Two websockets as one: what one side says the other hears, also how it ends; neither is read faster than the other takes it.
import type { RawData, WebSocket } from 'ws';
import type { Log } from '../../common/log.ts';
import { nodeGoingAway, type ProxiedSocket } from '../../rooms/proxied-socket.ts';

/** Where more than this waits on one side, the other is not read until less than `lowWater` does. Bytes. */
const highWater = 1024 * 1024;
const lowWater = 64 * 1024;
/** What may wait at most: what the client sent before it heard that it should stop. */
const maxWaiting = 8 * 1024 * 1024;
/** Milliseconds. A node that answers no ping for so long is lost, also where the network does not say so. */
const pingInterval = 10_000;
const pongTimeout = 30_000;
const closeTimeout = 2_000;

/** Owns both sockets until `ended`. */
export class SocketPipe {
  readonly ended: Promise<void>;
  readonly #client: ProxiedSocket;
  readonly #owner: WebSocket;
  readonly #log: Log;
  #early: string[] = [];
  #earlyBytes = 0;
  #clientPaused = true;
  #closing = false;
  /** Whether the owner waits for a pong. */
  #asked = false;
  #heardAt = performance.now();
  #timers: NodeJS.Timeout[] = [];

  constructor(client: ProxiedSocket, owner: WebSocket, log: Log) {
    this.#client = client;
    this.#owner = owner;
    this.#log = log;
    client.pause();
    owner.on('open', () => this.#opened());
    owner.on('message', (data, binary) => this.#fromOwner(data, binary));
    owner.on('ping', () => {
      this.#asked = true;
      client.ping();
    });
    owner.on('pong', () => {
      this.#heardAt = performance.now();
    });
    // Followed by `close`.
    owner.on('error', (error) => this.#log.info({ err: error }, 'a forwarded websocket broke'));
    const ownerGone = new Promise<void>((resolve) => {
      owner.on('close', (code, reason) => {
        this.#ownerClosed(code, reason.toString());
        resolve();
      });
    });
    client.listen({
      message: (text) => this.#fromClient(text),
      lost: (code, reason) => this.#closeOwner(code, reason),
      pong: () => this.#answerPing(),
    });
    // Also where this node closed the client's socket itself.
    void client.gone.then(() => this.#closeOwner(nodeGoingAway.code, nodeGoingAway.reason));
    this.ended = Promise.all([ownerGone, client.gone]).then(() => {
      for (const timer of this.#timers) clearInterval(timer);
    });
  }

  /** Ends both sides: the client may come again, and the owner keeps its session. Idempotent. */
  end(): void {
    this.#client.close(nodeGoingAway.code, nodeGoingAway.reason);
    this.#closing = true;
    this.#owner.terminate();
  }

  #opened(): void {
    if (this.#closing) return;
    this.#heardAt = performance.now();
    this.#timers.push(setInterval(() => this.#checkLife(), pingInterval));
    this.#toOwner(this.#client.first);
    for (const text of this.#early.splice(0)) this.#toOwner(text);
    this.#resumeClient();
  }

  #fromClient(text: string): void {
    if (this.#closing) return;
    if (this.#owner.readyState === this.#owner.OPEN) {
      this.#toOwner(text);
      return;
    }
    this.#early.push(text);
    this.#earlyBytes += text.length;
    if (this.#earlyBytes > maxWaiting) this.end();
  }

  #toOwner(text: string): void {
    this.#owner.send(text, () => {
      if (this.#owner.bufferedAmount <= lowWater) this.#resumeClient();
    });
    const waiting = this.#owner.bufferedAmount;
    if (waiting > maxWaiting) {
      this.end();
    } else if (waiting > highWater && !this.#clientPaused) {
      this.#clientPaused = true;
      this.#client.pause();
    }
  }

  #resumeClient(): void {
    if (!this.#clientPaused || this.#closing) return;
    this.#clientPaused = false;
    this.#client.resume();
  }

  #fromOwner(data: RawData, binary: boolean): void {
    if (binary || !Buffer.isBuffer(data)) return;
    this.#client.send(data.toString('utf8'));
    if (this.#client.bufferedBytes <= highWater || this.#owner.isPaused) return;
    this.#owner.pause();
    void this.#client.drained().then(() => this.#owner.resume());
  }

  #ownerClosed(code: number, reason: string): void {
    this.#closing = true;
    if (isSendable(code)) this.#client.close(code, reason);
    else this.#client.close(nodeGoingAway.code, nodeGoingAway.reason);
  }

  #closeOwner(code: number, reason: string): void {
    if (this.#closing) return;
    this.#closing = true;
    if (!isSendable(code) || this.#owner.readyState !== this.#owner.OPEN) {
      this.#owner.terminate();
      return;
    }
    this.#owner.close(code, reason);
    this.#owner.resume();
    this.#timers.push(setTimeout(() => this.#owner.terminate(), closeTimeout));
  }

  /** Once for each ping, however many pongs come. */
  #answerPing(): void {
    if (!this.#asked || this.#owner.readyState !== this.#owner.OPEN) return;
    this.#asked = false;
    this.#owner.pong();
  }

  #checkLife(): void {
    if (performance.now() - this.#heardAt >= pongTimeout) this.#owner.terminate();
    else if (this.#owner.readyState === this.#owner.OPEN) this.#owner.ping();
  }
}

/** RFC 6455, section 7.4: some codes only say how it ended and are never sent. */
function isSendable(code: number): boolean {
  return (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999);
}
