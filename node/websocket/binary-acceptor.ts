// Binary acceptor: websockets with binary frames whose HTTP request authenticates the client.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { toServiceError } from '../../api/errors.ts';
import type { Log } from '../common/log.ts';
import { binaryFrames, FrameSocket, type FrameSocketLimits, type FrameSocketListener } from './frame-socket.ts';
import { PendingSockets } from './pending-sockets.ts';
import { type ClientAddress, clientAddressOf, refusalOf, rejectUpgrade, type UpgradeRules } from './upgrade.ts';

export type BinarySocket = FrameSocket<Buffer>;
export type BinaryListener = FrameSocketListener<Buffer>;
/** `url`: path and query. */
export type UpgradeRequest = { url: string; authorization: string | undefined; client: ClientAddress };

export type BinaryAcceptorLimits = FrameSocketLimits & {
  readonly messageBytes: number;
  /** Limit of the ws library, which closes with 1009. */
  readonly payloadBytes: number;
  readonly unauthenticatedSockets: number;
  readonly unauthenticatedPerNetwork: number;
};
export type BinaryAcceptorOptions = UpgradeRules & {
  log: Log;
  limits: BinaryAcceptorLimits;
  /**
   * Authenticates a request. Resolves with a function that receives the open socket and returns its listener.
   * @throws ServiceError, with which the upgrade is rejected
   */
  authenticate: (request: UpgradeRequest) => Promise<(socket: BinarySocket) => BinaryListener>;
};

/** Owns every accepted socket until close(). */
export class BinaryAcceptor {
  readonly #options: BinaryAcceptorOptions;
  readonly #server: WebSocketServer;
  readonly #sockets = new Set<BinarySocket>();
  readonly #pending: PendingSockets;
  #closed = false;

  constructor(options: BinaryAcceptorOptions) {
    this.#options = options;
    const { unauthenticatedSockets: total, unauthenticatedPerNetwork: perNetwork, payloadBytes: maxPayload } = options.limits;
    this.#pending = new PendingSockets({ total, perNetwork });
    this.#server = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload });
  }

  /** `address`: address of the client, resolved behind proxies. */
  handleUpgrade(request: IncomingMessage, raw: Duplex, head: Buffer, address?: string): void {
    const refusal = refusalOf(request, this.#options, this.#closed);
    if (refusal) rejectUpgrade(raw, refusal);
    else void this.#enter(request, raw, head, clientAddressOf(request, this.#options, address));
  }

  /** Closes every socket with 1001 and resolves when all are closed. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const socket of this.#sockets) socket.close('goingAway');
    await Promise.all([...this.#sockets].map((socket) => socket.closed));
  }

  async #enter(request: IncomingMessage, raw: Duplex, head: Buffer, client: ClientAddress): Promise<void> {
    const ignored = () => {};
    raw.on('error', ignored);
    const leave = this.#pending.add(client.address, () => {
      raw.destroy();
      leave();
    });
    try {
      const begin = await this.#options.authenticate({ url: request.url ?? '/', authorization: request.headers.authorization, client });
      if (!raw.destroyed) this.#accept(request, raw, head, begin);
    } catch (error) {
      const refusal = toServiceError(error);
      if (refusal.code === 'internal') this.#options.log.error({ err: error }, 'could not authenticate websocket');
      if (!raw.destroyed) rejectUpgrade(raw, refusal);
    } finally {
      leave();
      raw.off('error', ignored);
    }
  }

  #accept(request: IncomingMessage, raw: Duplex, head: Buffer, begin: (socket: BinarySocket) => BinaryListener): void {
    const refusal = refusalOf(request, this.#options, this.#closed);
    if (refusal) {
      rejectUpgrade(raw, refusal);
      return;
    }
    this.#server.handleUpgrade(request, raw, head, (webSocket) => {
      const { limits } = this.#options;
      const socket = new FrameSocket(webSocket, raw, limits, binaryFrames, { message: () => {}, lost: () => {} });
      socket.allow(limits.messageBytes);
      this.#sockets.add(socket);
      void socket.closed.then(() => this.#sockets.delete(socket));
      socket.listen(begin(socket));
    });
  }
}
