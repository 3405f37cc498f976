// Half-open connections: limits accepted sockets whose handshake is incomplete. The oldest is closed first.
import type { Socket } from 'node:net';

export type HalfOpenLimits = { all: number; perAddress: number };
/** A host may run many nodes that connect at the same time. Each needs only milliseconds. */
const halfOpenLimits: HalfOpenLimits = { all: 256, perAddress: 64 };

export class HalfOpen {
  readonly #limits: HalfOpenLimits;
  /** Remote address of each socket, oldest first. */
  readonly #sockets = new Map<Socket, string>();

  constructor(limits: HalfOpenLimits = halfOpenLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#sockets.size;
  }

  /**
   * Adds a socket. A client that holds connections open cannot block others: the oldest of the same address is closed, else the oldest of
   * all.
   */
  enter(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    const ofAddress = [...this.#sockets].filter(([, each]) => each === address);
    if (ofAddress.length >= this.#limits.perAddress) this.#cut(ofAddress[0]?.[0]);
    else if (this.#sockets.size >= this.#limits.all) this.#cut(this.#sockets.keys().next().value);
    this.#sockets.set(socket, address);
  }

  /** The handshake is complete or the socket is closed. */
  leave(socket: Socket): void {
    this.#sockets.delete(socket);
  }

  close(): void {
    for (const socket of [...this.#sockets.keys()]) this.#cut(socket);
  }

  #cut(socket: Socket | undefined): void {
    if (!socket) return;
    this.#sockets.delete(socket);
    socket.destroy();
  }
}
