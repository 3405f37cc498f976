// WebSocket acceptor: checks the origin, limits number, time and bytes of unauthenticated sockets, and authenticates them.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { PendingSockets } from '../websocket/pending-sockets.ts';
import { TextSocket, type TextSocketListener } from '../websocket/text-socket.ts';
import { type ClientAddress, clientAddressOf, refusalOf, rejectUpgrade, type UpgradeRules } from '../websocket/upgrade.ts';
import type { Limits } from './limits.ts';

export type WebSocketAcceptorOptions = UpgradeRules & {
  limits: Limits;
  /**
   * Processes the first message. Resolves with the listener of later messages, or with undefined if it closed the socket. Messages that
   * arrive meanwhile are held and passed to the listener in order.
   */
  authenticate: (socket: TextSocket, text: string, clientAddress: ClientAddress) => Promise<TextSocketListener | undefined>;
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
    const refusal = refusalOf(request, this.#options, this.#closed);
    if (refusal) {
      rejectUpgrade(raw, refusal);
      return;
    }
    const caller = clientAddressOf(request, this.#options, address);
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
      void socket.closed.then(() => {
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
    await Promise.all([...this.#sockets].map((socket) => socket.closed));
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
