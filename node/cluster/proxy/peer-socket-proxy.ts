// Peer websocket proxy: passes websockets of peers frame by frame to the owning node of their room.

import { WebSocket } from 'ws';
import { traceparentHeader } from '../../../api/core/traceparent.ts';
import { proxiedHeader } from '../../../api/node.ts';
import type { Log } from '../../common/log.ts';
import type { ProxiedSocket } from '../../rooms/proxied-socket.ts';
import type { NodeName } from '../cluster-transport.ts';
import type { Member } from '../nodes.ts';
import { nodeTls } from './node-tls.ts';
import type { NodeTokens } from './node-tokens.ts';
import { SocketPipe } from './socket-pipe.ts';

/** Timeout for opening a websocket to the owning node, in milliseconds. */
const openTimeoutMs = 5_000;
/** Maximum frame size from the other node in bytes: the size of its send buffer for a client. */
const maxFrame = 8 * 1024 * 1024;

/** Address of another node for proxied websockets and requests. */
export type ProxyTarget = Pick<Member, 'name' | 'internalAddress' | 'address' | 'tls'>;

export type PeerSocketProxyOptions = {
  log: Log;
  tokens: Pick<NodeTokens, 'sign'>;
  /** The remote owner of a room; undefined if there is no owner or it is this node. */
  locate: (roomId: string) => ProxyTarget | undefined | Promise<ProxyTarget | undefined>;
  /** PEM of this node's certificate. */
  ownCertificate?: () => string | undefined;
};

export class PeerSocketProxy {
  readonly #options: PeerSocketProxyOptions;
  readonly #pipes = new Map<SocketPipe, NodeName>();
  #closed = false;

  constructor(options: PeerSocketProxyOptions) {
    this.#options = options;
  }

  /** Number of proxied websockets. */
  get size(): number {
    return this.#pipes.size;
  }

  /** @returns true if the proxy owns the socket from now on, and therefore closes it. */
  async forward(roomId: string, socket: ProxiedSocket): Promise<boolean> {
    const target = await this.#options.locate(roomId);
    if (!target || this.#closed) return false;
    const log = this.#options.log.child({ room: roomId, node: target.name, client: socket.address });
    const pipe = new SocketPipe(socket, this.#open(target, socket), log);
    this.#pipes.set(pipe, target.name);
    void pipe.ended.then(() => this.#pipes.delete(pipe));
    log.debug('proxying peer websocket');
    return true;
  }

  /** The node is lost: its clients must search for their rooms again. */
  nodeDown(node: NodeName): void {
    for (const [pipe, owner] of this.#pipes) if (owner === node) pipe.end();
  }

  /**
   * Closes all proxied websockets: clients get 1001, and the owning nodes keep their sessions. Resolves when all are closed. Idempotent.
   */
  async close(): Promise<void> {
    this.#closed = true;
    const pipes = [...this.#pipes.keys()];
    for (const pipe of pipes) pipe.end();
    await Promise.all(pipes.map((pipe) => pipe.ended));
  }

  #open(target: ProxyTarget, { address: client, trace, path: pathAndQuery }: ProxiedSocket): WebSocket {
    const path = pathAndQuery.split('?', 1)[0] ?? '/';
    return new WebSocket(`${target.tls ? 'wss' : 'ws'}://${target.internalAddress}${pathAndQuery}`, {
      headers: {
        ...(trace !== undefined && { [traceparentHeader]: trace }),
        [proxiedHeader]: this.#options.tokens.sign({ client, path, to: target.name }),
      },
      handshakeTimeout: openTimeoutMs,
      perMessageDeflate: false,
      autoPong: false,
      maxPayload: maxFrame,
      ...(target.tls ? nodeTls(target, this.#options.ownCertificate?.()) : {}),
    });
  }
}
