// Pending sockets: limits unauthenticated sockets per network and in total, and evicts the oldest.
import { networkOf } from '../common/rate-limit.ts';

export type PendingLimits = { total: number; perNetwork: number };

/**
 * No client is rejected because of sockets of other networks: a new socket evicts one of its own network, or else one of the network with
 * most sockets.
 */
export class PendingSockets {
  readonly #limits: PendingLimits;
  /** By network, oldest first. */
  readonly #networks = new Map<string, Set<() => void>>();
  #size = 0;

  constructor(limits: PendingLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Adds a socket.
   * @param address IP address of the client
   * @param evict closes the socket immediately
   * @returns a function to call when the socket is not pending any more; idempotent
   */
  add(address: string, evict: () => void): () => void {
    const network = networkOf(address);
    const own = this.#networks.get(network);
    if (own && own.size >= this.#limits.perNetwork) this.#evictOldest(own);
    else if (this.#size >= this.#limits.total) this.#evictOldest(this.#greediest());
    // A unique key, even if the same function is passed twice.
    const entry = () => evict();
    const sockets = this.#networks.get(network) ?? new Set();
    this.#networks.set(network, sockets.add(entry));
    this.#size += 1;
    return () => {
      if (!sockets.delete(entry)) return;
      this.#size -= 1;
      if (sockets.size === 0) this.#networks.delete(network);
    };
  }

  #greediest(): Set<() => void> {
    let most = new Set<() => void>();
    for (const sockets of this.#networks.values()) if (sockets.size > most.size) most = sockets;
    return most;
  }

  /** An evicted socket is removed like one that closes. */
  #evictOldest(sockets: Set<() => void>): void {
    sockets.values().next().value?.();
  }
}
