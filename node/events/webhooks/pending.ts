// Deliveries that are neither taken nor given up, and which of them goes first where they are too many.
import { byteLength, type Delivery } from './delivery.ts';

/** Of the whole, what one room may have: a guest who makes events without end moves out those of that room, not those of others. */
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

  /** The oldest first. */
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

  /** @returns whether it was there. */
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
   * What has to go now that a delivery of this room came: the oldest of this room while it has more than its share of `maxBytes`, and more than
   * one; else, while all together are too many, the oldest of the room that has most. Undefined where nothing has to.
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
