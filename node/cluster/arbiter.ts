// Name arbiter: reserves room names at one node of the cluster, so that exactly one of two concurrent requests for a name wins.
import { ServiceError } from '../../api/errors.ts';
import { nodeRpcs, type ReservedName, roomCreationMs } from '../../api/operations/node-rpcs.ts';
import type { NodeName } from './cluster-transport.ts';

/** `expiresAt` in monotonic milliseconds. */
export type Reservation = { holder: NodeName; ticket: string; expiresAt: number };

/** Milliseconds after which the name of a creation that did not end is free again: a node that did not respond may create its room late. */
export const reservationTtl = roomCreationMs + nodeRpcs.createLocalRoom.timeoutMs;
/** Maximum number of concurrent reservations. Further creations are rejected. */
const maxReservations = 100_000;

export type ReserveResult = { ok: true } | { ok: false; taken: ReservedName };

export class Arbiter {
  /** Insertion order is expiry order. */
  readonly #reservations = new Map<string, Reservation>();
  readonly #exists: (name: ReservedName) => boolean;
  readonly #now: () => number;

  /** `exists`: true if this node has an active room with the name in its directory. */
  constructor(exists: (name: ReservedName) => boolean, now: () => number = () => performance.now()) {
    this.#exists = exists;
    this.#now = now;
  }

  /**
   * Reserves all names or none, and returns the first name that is in use. @throws ServiceError `unavailable` if there are too many
   * reservations
   */
  reserve(names: readonly ReservedName[], holder: NodeName, ticket: string): ReserveResult {
    const now = this.#now();
    this.#expire(now);
    for (const taken of names) {
      const reservation = this.#reservations.get(keyOf(taken));
      if ((reservation !== undefined && reservation.ticket !== ticket) || this.#exists(taken)) return { ok: false, taken };
    }
    if (this.#reservations.size + names.length > maxReservations)
      throw new ServiceError('unavailable', 'Too many rooms are being created', { retryAfter: reservationTtl / 1_000 });
    for (const name of names) {
      this.#reservations.delete(keyOf(name));
      this.#reservations.set(keyOf(name), { holder, ticket, expiresAt: now + reservationTtl });
    }
    return { ok: true };
  }

  /** The creation has ended, with or without success. Names of other tickets stay reserved. */
  release(names: readonly ReservedName[], ticket: string): void {
    for (const name of names) if (this.#reservations.get(keyOf(name))?.ticket === ticket) this.#reservations.delete(keyOf(name));
  }

  /** A node is lost: its creations in progress will not complete. */
  releaseAll(holder: NodeName): void {
    for (const [key, reservation] of this.#reservations) if (reservation.holder === holder) this.#reservations.delete(key);
  }

  #expire(now: number): void {
    for (const [key, { expiresAt }] of this.#reservations) {
      if (expiresAt > now) return;
      this.#reservations.delete(key);
    }
  }
}

/** The node whose arbiter decides: the lowest name of all connected nodes. */
export function arbiterOf(self: NodeName, nodes: readonly NodeName[]): NodeName {
  return [self, ...nodes].sort()[0] ?? self;
}

function keyOf({ space, name }: ReservedName): string {
  return `${space}:${name}`;
}
