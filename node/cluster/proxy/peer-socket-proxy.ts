// Peer websockets that reached a node without their room: carried to the node that owns it, frame by frame.
import { WebSocket } from 'ws';
import type { Log } from '../../common/log.ts';
import type { ProxiedSocket } from '../../rooms/proxied-socket.ts';
import type { NodeName } from '../cluster-transport.ts';
import type { Member } from '../membership.ts';
import { nodeTls } from './node-tls.ts';
import { type NodeTokens, proxiedHeader } from './node-tokens.ts';
import { SocketPipe } from './socket-pipe.ts';

const path = '/socket/peer/websocket';
/** How long the other node may take to open a socket, in milliseconds. */
const openTimeoutMs = 5_000;
/** Largest frame of the other node, in bytes: what it itself lets wait for a client. */
const maxFrame = 8 * 1024 * 1024;

/** Another node as sockets and requests are carried to it. */
export type ProxyTarget = Pick<Member, 'name' | 'internalAddress' | 'address' | 'tls'>;

export type PeerSocketProxyOptions = {
  log: Log;
  tokens: Pick<NodeTokens, 'sign'>;
  /** The other node that has a room; undefined where there is none, or it is this one. */
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

  /** Sockets that are carried now. */
  get size(): number {
    return this.#pipes.size;
  }

  /** @returns whether the socket is this proxy's from now on; then it closes it, too. */
  async forward(roomId: string, socket: ProxiedSocket): Promise<boolean> {
    const target = await this.#options.locate(roomId);
    if (!target || this.#closed) return false;
    const log = this.#options.log.child({ room: roomId, node: target.name, client: socket.address });
    const pipe = new SocketPipe(socket, this.#open(target, socket.address), log);
    this.#pipes.set(pipe, target.name);
    void pipe.ended.then(() => this.#pipes.delete(pipe));
    log.debug('a peer websocket is forwarded');
    return true;
  }

  /** The node is lost: its clients look for their rooms elsewhere. */
  nodeDown(node: NodeName): void {
    for (const [pipe, owner] of this.#pipes) if (owner === node) pipe.end();
  }

  /** Ends every pipe: clients get 1001, and the nodes that they were carried to keep their sessions. Resolves when all are gone. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    const pipes = [...this.#pipes.keys()];
    for (const pipe of pipes) pipe.end();
    await Promise.all(pipes.map((pipe) => pipe.ended));
  }

  #open(target: ProxyTarget, client: string): WebSocket {
    return new WebSocket(`${target.tls ? 'wss' : 'ws'}://${target.internalAddress}${path}`, {
      headers: { [proxiedHeader]: this.#options.tokens.sign({ client, path, to: target.name }) },
      handshakeTimeout: openTimeoutMs,
      perMessageDeflate: false,
      autoPong: false,
      maxPayload: maxFrame,
      ...(target.tls ? nodeTls(target, this.#options.ownCertificate?.()) : {}),
    });
  }
}
