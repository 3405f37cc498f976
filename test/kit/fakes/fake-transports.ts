// Fake transports of one peer by id: what the fake media of a peer and its data channels share.
import { ServiceError } from '../../../api/errors.ts';
import type { Direction } from '../../../node/rooms/interfaces.ts';

export class FakeTransports {
  readonly withSctp = new Set<string>();
  readonly #peerId: string;
  readonly #directions = new Map<string, Direction>();
  closed = false;
  #count = 0;

  constructor(peerId: string) {
    this.#peerId = peerId;
  }

  /** @returns the id; a previous transport of the direction closes */
  create(direction: Direction, sctp: boolean): string {
    this.assertOpen();
    const previous = this.id(direction);
    if (previous !== undefined) this.#directions.delete(previous);
    const id = `${this.#peerId}-${direction}-${++this.#count}`;
    this.#directions.set(id, direction);
    if (sctp) this.withSctp.add(id);
    return id;
  }

  id(direction: Direction): string | undefined {
    return [...this.#directions].find(([, each]) => each === direction)?.[0];
  }

  direction(transportId: string): Direction {
    this.assertOpen();
    const direction = this.#directions.get(transportId);
    if (!direction) throw new ServiceError('not_found', `Transport ${transportId} does not exist`);
    return direction;
  }

  assertOpen(): void {
    if (this.closed) throw new ServiceError('unavailable', 'Media of this peer has ended');
  }

  /** They were lost; new ones can be created. */
  lose(): void {
    this.#directions.clear();
  }

  close(): void {
    this.closed = true;
    this.#directions.clear();
  }
}
