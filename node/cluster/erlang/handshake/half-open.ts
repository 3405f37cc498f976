// Connections of those who dialled us and have not shown yet that they belong to the cluster: bounded, the oldest goes first.
import type { Socket } from 'node:net';

export type HalfOpenLimits = { all: number; perAddress: number };
/** A machine may have many nodes that all begin at once; each needs milliseconds. */
export const halfOpenLimits: HalfOpenLimits = { all: 256, perAddress: 64 };

export class HalfOpen {
  readonly #limits: HalfOpenLimits;
  /** The address of each, the oldest first. */
  readonly #sockets = new Map<Socket, string>();

  constructor(limits: HalfOpenLimits = halfOpenLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#sockets.size;
  }

  /** Takes one more. Whoever holds connections open keeps nobody out: the oldest of the same address makes room, else the oldest of all. */
  enter(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    const ofAddress = [...this.#sockets].filter(([, each]) => each === address);
    if (ofAddress.length >= this.#limits.perAddress) this.#cut(ofAddress[0]?.[0]);
    else if (this.#sockets.size >= this.#limits.all) this.#cut(this.#sockets.keys().next().value);
    this.#sockets.set(socket, address);
  }

  /** It is done, or gone. */
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
