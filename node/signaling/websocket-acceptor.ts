// WebSocket acceptor: checks the origin, limits number, time and bytes of unauthenticated sockets, and authenticates them.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { parseTraceparent, traceparentHeader } from '../../api/core/traceparent.ts';
import type { Limits } from './limits.ts';
import { isAllowedOrigin, type OriginRule } from './origin.ts';
import { PendingSockets } from './pending-sockets.ts';
import { TextSocket, type TextSocketListener } from './text-socket.ts';

/** Origin of a socket. `address`: address of the client, also if another node `forwarded` the socket. `trace`: its traceparent. */
export type ClientAddress = { address: string; forwarded: boolean; trace?: string | undefined };

export type WebSocketAcceptorOptions = {
  limits: Limits;
  checkOrigin: () => OriginRule;
  address: () => string;
  /**
   * Processes the first message. Resolves with the listener of later messages, or with undefined if it closed the socket. Messages that
   * arrive meanwhile are held and passed to the listener in order.
   */
  authenticate: (socket: TextSocket, text: string, clientAddress: ClientAddress) => Promise<TextSocketListener | undefined>;
  /** The address of the client if another node proxies the socket. */
  forwardedFor?: ((request: IncomingMessage) => string | undefined) | undefined;
};

/** Maximum size of a frame header (RFC 6455, section 5.2). */
const frameHeaderBytes = 14;

/** Owns every accepted socket until close(). */
export class WebSocketAcceptor {
  readonly #options: WebSocketAcceptorOptions;
  readonly #server: WebSocketServer;
  readonly #sockets = new Set<TextSocket>();
  readonly #pending: PendingSockets;
  #closed = false;

  constructor(options: WebSocketAcceptorOptions) {
    this.#options = options;
    const { unauthenticatedSockets: total, unauthenticatedPerNetwork: perNetwork } = options.limits;
    this.#pending = new PendingSockets({ total, perNetwork });
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: options.limits.payloadBytes,
      // TextSocket validates UTF-8, so that the close code is ours.
      skipUTF8Validation: true,
    });
  }

  get sockets(): number {
    return this.#sockets.size;
  }

  /** `address`: address of the client, resolved behind proxies. */
  handleUpgrade(request: IncomingMessage, raw: Duplex, head: Buffer, address?: string): void {
    if (this.#closed) {
      rejectUpgrade(raw, 503, 'unavailable', 'This node is shutting down');
      return;
    }
    const { origin, host, [traceparentHeader]: traceparent } = request.headers;
    if (!isAllowedOrigin(this.#options.checkOrigin(), origin, host, this.#options.address())) {
      rejectUpgrade(raw, 403, 'forbidden', 'This origin may not open a websocket');
      return;
    }
    const client = this.#options.forwardedFor?.(request);
    const caller = {
      address: client ?? address ?? request.socket.remoteAddress ?? '',
      forwarded: client !== undefined,
      trace: parseTraceparent(traceparent) && String(traceparent),
    };
    this.#server.handleUpgrade(request, raw, head, (webSocket) => {
      const { limits } = this.#options;
      // Counted before ws joins the fragments of a message, so that an unauthenticated client cannot make us buffer more than the limit of
      // the first message.
      let bytes = 0;
      const watch = (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > limits.firstMessageBytes + frameHeaderBytes) socket.refuse('tooLarge');
      };
      const settle = () => {
        raw.off('data', watch);
        clearTimeout(deadline);
      };
      const deadline = setTimeout(() => {
        settle();
        socket.close('authenticationTimeout');
        leave();
      }, limits.authenticationTimeout);
      const leave = this.#pending.add(caller.address, () => {
        socket.refuse('authenticationTimeout');
        // Immediately, because clients that never answer the close frame could otherwise double the number.
        socket.terminate();
        leave();
      });
      const socket = new TextSocket(webSocket, raw, limits, {
        message: (text) => {
          settle();
          void this.#enter(socket, text, caller).finally(leave);
        },
        lost: () => {
          settle();
          leave();
        },
      });
      raw.on('data', watch);
      this.#sockets.add(socket);
      void socket.gone.then(() => {
        settle();
        leave();
        this.#sockets.delete(socket);
      });
    });
  }

  /** Closes every socket with 1001 and resolves when all are closed. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const socket of this.#sockets) socket.close('goingAway');
    await Promise.all([...this.#sockets].map((socket) => socket.gone));
  }

  async #enter(socket: TextSocket, text: string, clientAddress: ClientAddress): Promise<void> {
    const { limits } = this.#options;
    const early: { text: string; bytes: number }[] = [];
    let earlyBytes = 0;
    let lostWith: { code: number; reason: string } | undefined;
    socket.allow(limits.messageBytes);
    socket.listen({
      message: (next, bytes) => {
        earlyBytes += bytes;
        if (early.length >= limits.earlyMessages) socket.refuse('tooFast');
        else if (earlyBytes > limits.earlyBytes) socket.refuse('tooLarge');
        else early.push({ text: next, bytes });
      },
      lost: (code, reason) => {
        lostWith = { code, reason };
      },
    });
    const listener = await this.#options.authenticate(socket, text, clientAddress);
    if (!listener) return;
    socket.listen(listener);
    for (const each of early) listener.message(each.text, each.bytes);
    if (lostWith) listener.lost(lostWith.code, lostWith.reason, 0);
  }
}

/** Responds to an upgrade over plain HTTP, in the shape of all other errors. */
function rejectUpgrade(raw: Duplex, status: 403 | 404 | 503, code: string, message: string): void {
  const body = JSON.stringify({ errors: message, code });
  const names = { 403: 'Forbidden', 404: 'Not Found', 503: 'Service Unavailable' };
  raw.on('error', () => raw.destroy());
  raw.once('finish', () => raw.destroy());
  const lines = [
    `HTTP/1.1 ${status} ${names[status]}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(status === 503 ? ['Retry-After: 1'] : []),
  ];
  raw.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
}
