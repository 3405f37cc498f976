// Fake transports of one peer by id: what the fake media of a peer and its data channels share.
import { ServiceError } from '../../../api/errors.ts';
import type { Direction, TransportUse } from '../../../node/rooms/interfaces.ts';

export class FakeTransports {
  readonly withSctp = new Set<string>();
  readonly #peerId: string;
  readonly #ids = new Map<Direction, string>();
  closed = false;
  #count = 0;

  constructor(peerId: string) {
    this.#peerId = peerId;
  }

  /** @returns the id; previous transports of the directions close */
  create(use: TransportUse, sctp: boolean): string {
    this.assertOpen();
    const id = `${this.#peerId}-${use}-${++this.#count}`;
    const directions: readonly Direction[] = use === 'both' ? ['send', 'recv'] : [use];
    const replaced = directions.map((direction) => this.#ids.get(direction));
    for (const [direction, each] of this.#ids) if (replaced.includes(each)) this.#ids.delete(direction);
    for (const direction of directions) this.#ids.set(direction, id);
    if (sctp) this.withSctp.add(id);
    return id;
  }

  id(direction: Direction): string | undefined {
    return this.#ids.get(direction);
  }

  /** @throws ServiceError `not_found` */
  directions(transportId: string): Direction[] {
    this.assertOpen();
    const directions = [...this.#ids].flatMap(([direction, id]) => (id === transportId ? [direction] : []));
    if (directions.length === 0) throw new ServiceError('not_found', `Transport ${transportId} does not exist`);
    return directions;
  }

  assertOpen(): void {
    if (this.closed) throw new ServiceError('unavailable', 'Media of this peer has ended');
  }

  /** They were lost; new ones can be created. */
  lose(): void {
    this.#ids.clear();
  }

  close(): void {
    this.closed = true;
    this.#ids.clear();
  }
}
