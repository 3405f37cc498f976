// Sockets that have not said who they are: bounded for each network and in all, and the oldest goes where one is too many.
import { networkOf } from '../common/rate-limit.ts';

export type PendingLimits = { total: number; perNetwork: number };

/** Nobody is refused for the sockets of others: a newcomer takes the place of one of its own network, else of the network that has most. */
export class PendingSockets {
  readonly #limits: PendingLimits;
  /** By network, each with its oldest first. */
  readonly #networks = new Map<string, Set<() => void>>();
  #size = 0;

  constructor(limits: PendingLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Counts one more.
   * @param address IP address of the client
   * @param evict ends the socket, at once
   * @returns to be called when it is pending no more; idempotent
   */
  add(address: string, evict: () => void): () => void {
    const network = networkOf(address);
    const own = this.#networks.get(network);
    if (own && own.size >= this.#limits.perNetwork) this.#evictOldest(own);
    else if (this.#size >= this.#limits.total) this.#evictOldest(this.#greediest());
    // A key of its own for each, whatever function is given.
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

  /** Who is evicted leaves, as whoever ends otherwise does. */
  #evictOldest(sockets: Set<() => void>): void {
    sockets.values().next().value?.();
  }
}
