// Websocket pipe: connects two websockets, including close codes and backpressure.
import type { RawData, WebSocket } from 'ws';
import { closeCodes } from '../../../api/close-codes.ts';
import type { Log } from '../../common/log.ts';
import type { ProxiedSocket } from '../../rooms/proxied-socket.ts';

/** If the send buffer of one side exceeds this, the other side is paused until the buffer is below `lowWater`. Bytes. */
const highWater = 1024 * 1024;
const lowWater = 64 * 1024;
/** Maximum size of the send buffer: data that the client sent before it was paused. */
const maxWaiting = 8 * 1024 * 1024;
/** Milliseconds. A node that does not answer a ping within this time is lost, even if the network reports no error. */
const pingInterval = 10_000;
const pongTimeout = 30_000;
const closeTimeout = 2_000;

/** Owns both sockets until `ended`. */
export class SocketPipe {
  readonly ended: Promise<void>;
  readonly #client: ProxiedSocket;
  readonly #owner: WebSocket;
  readonly #log: Log;
  #early: (string | Buffer)[] = [];
  #earlyBytes = 0;
  #clientPaused = true;
  #closing = false;
  /** True if the owning node has not answered the last ping. */
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
    // Always followed by `close`.
    owner.on('error', (error) => this.#log.info({ err: error }, 'proxied websocket closed with error'));
    const ownerClosed = new Promise<void>((resolve) => {
      owner.on('close', (code, reason) => {
        this.#ownerClosed(code, reason.toString());
        resolve();
      });
    });
    client.listen({
      message: (frame) => this.#fromClient(frame),
      lost: (code, reason) => this.#closeOwner(code, reason),
      pong: () => this.#answerPing(),
    });
    // Also if this node closed the websocket of the client.
    void client.closed.then(() => this.#closeOwner(closeCodes.goingAway.code, closeCodes.goingAway.reason));
    this.ended = Promise.all([ownerClosed, client.closed]).then(() => {
      for (const timer of this.#timers) clearInterval(timer);
    });
  }

  /** Closes both sides. The client may reconnect, and the owning node keeps its session. Idempotent. */
  end(): void {
    this.#client.ending?.();
    this.#client.close(closeCodes.goingAway.code, closeCodes.goingAway.reason);
    this.#closing = true;
    this.#owner.terminate();
  }

  #opened(): void {
    if (this.#closing) return;
    this.#heardAt = performance.now();
    this.#timers.push(setInterval(() => this.#checkLife(), pingInterval));
    if (this.#client.first !== undefined) this.#toOwner(this.#client.first);
    for (const frame of this.#early.splice(0)) this.#toOwner(frame);
    this.#resumeClient();
  }

  #fromClient(frame: string | Buffer): void {
    if (this.#closing) return;
    if (this.#owner.readyState === this.#owner.OPEN) {
      this.#toOwner(frame);
      return;
    }
    this.#early.push(frame);
    this.#earlyBytes += frame.length;
    if (this.#earlyBytes > maxWaiting) this.end();
  }

  #toOwner(frame: string | Buffer): void {
    this.#owner.send(frame, () => {
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
    if (binary !== this.#client.binary || !Buffer.isBuffer(data)) return;
    this.#client.send(binary ? data : data.toString('utf8'));
    if (this.#client.bufferedBytes <= highWater || this.#owner.isPaused) return;
    this.#owner.pause();
    void this.#client.drained().then(() => this.#owner.resume());
  }

  #ownerClosed(code: number, reason: string): void {
    this.#closing = true;
    if (isSendable(code)) this.#client.close(code, reason);
    else this.#client.close(closeCodes.goingAway.code, closeCodes.goingAway.reason);
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

  /** At most once per ping, regardless of the number of pongs. */
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

/** RFC 6455, section 7.4: some codes only describe a close locally and are never sent. */
function isSendable(code: number): boolean {
  return (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999);
}
