// Pending deliveries: not delivered and not failed permanently yet, with a fair limit per room.
import { byteLength, type Delivery } from './delivery.ts';

/** Maximum share of one room. A peer that causes endless events displaces deliveries of its room only. */
const roomShare = 1 / 8;

type OfRoom = { deliveries: Map<number, Delivery>; bytes: number };

export class PendingDeliveries {
  readonly #all = new Map<number, Delivery>();
  readonly #rooms = new Map<string, OfRoom>();
  #bytes = 0;

  get size(): number {
    return this.#all.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Oldest first. */
  values(): Iterable<Delivery> {
    return this.#all.values();
  }

  has({ n }: Delivery): boolean {
    return this.#all.has(n);
  }

  add(delivery: Delivery): void {
    const bytes = byteLength(delivery);
    const room = this.#rooms.get(delivery.roomId) ?? { deliveries: new Map(), bytes: 0 };
    this.#rooms.set(delivery.roomId, room);
    room.deliveries.set(delivery.n, delivery);
    room.bytes += bytes;
    this.#all.set(delivery.n, delivery);
    this.#bytes += bytes;
  }

  /** @returns true if it was pending. */
  delete({ n, roomId }: Delivery): boolean {
    const delivery = this.#all.get(n);
    const room = this.#rooms.get(roomId);
    if (!delivery || !room) return false;
    const bytes = byteLength(delivery);
    this.#all.delete(n);
    this.#bytes -= bytes;
    room.deliveries.delete(n);
    room.bytes -= bytes;
    if (room.deliveries.size === 0) this.#rooms.delete(roomId);
    return true;
  }

  /**
   * The delivery to drop after one of this room was added: the oldest of this room while it exceeds its share of `maxBytes` and has more
   * than one; else, while all together exceed the limit, the oldest of the largest room. Undefined if nothing must be dropped.
   */
  excess(roomId: string, maxBytes: number): Delivery | undefined {
    const own = this.#rooms.get(roomId);
    if (own && own.deliveries.size > 1 && own.bytes > maxBytes * roomShare) return oldest(own);
    if (this.#bytes <= maxBytes) return undefined;
    let greediest: OfRoom | undefined;
    for (const room of this.#rooms.values()) if (!greediest || room.bytes > greediest.bytes) greediest = room;
    return greediest && oldest(greediest);
  }
}

function oldest({ deliveries }: OfRoom): Delivery | undefined {
  return deliveries.values().next().value;
}
