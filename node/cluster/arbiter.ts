// Reservations of names while rooms are made: kept at one node of the cluster, so that of two requests for one name exactly one wins.
import { ServiceError } from '../common/errors.ts';
import type { NodeName } from './cluster-transport.ts';

/** A name in one of two spaces: a room's id, or the caller's own key. */
export type ReservedName = { space: 'id' | 'externalId'; name: string };
/** `expiresAt` in monotonic milliseconds. */
export type Reservation = { holder: NodeName; ticket: string; expiresAt: number };

/** Longest that a creation may take; then the name is free again. Milliseconds. */
export const reservationTtl = 15_000;
/** Reservations at once; beyond, creations are refused. */
const maxReservations = 100_000;

export type ReserveResult = { ok: true } | { ok: false; taken: ReservedName };

export class Arbiter {
  /** What expires first comes first. */
  readonly #reservations = new Map<string, Reservation>();
  readonly #exists: (name: ReservedName) => boolean;
  readonly #now: () => number;

  /** `exists`: whether a living room has the name, as far as this node knows. */
  constructor(exists: (name: ReservedName) => boolean, now: () => number = () => performance.now()) {
    this.#exists = exists;
    this.#now = now;
  }

  /** All names or none; the first that is taken is told. @throws ServiceError `unavailable` where there are too many */
  reserve(names: readonly ReservedName[], holder: NodeName, ticket: string): ReserveResult {
    const now = this.#now();
    this.#expire(now);
    for (const taken of names) {
      const reservation = this.#reservations.get(keyOf(taken));
      if ((reservation !== undefined && reservation.ticket !== ticket) || this.#exists(taken)) return { ok: false, taken };
    }
    if (this.#reservations.size + names.length > maxReservations)
      throw new ServiceError('unavailable', 'Too many rooms are being made', { retryAfter: reservationTtl / 1_000 });
    for (const name of names) {
      this.#reservations.delete(keyOf(name));
      this.#reservations.set(keyOf(name), { holder, ticket, expiresAt: now + reservationTtl });
    }
    return { ok: true };
  }

  /** The creation is over, whichever way. Names of other tickets stay. */
  release(names: readonly ReservedName[], ticket: string): void {
    for (const name of names) if (this.#reservations.get(keyOf(name))?.ticket === ticket) this.#reservations.delete(keyOf(name));
  }

  /** A node is lost: what it was about to make is not made. */
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

/** The node whose arbiter decides: the one with the lowest name of all that are connected. */
export function arbiterOf(self: NodeName, nodes: readonly NodeName[]): NodeName {
  return [self, ...nodes].sort()[0] ?? self;
}

function keyOf({ space, name }: ReservedName): string {
  return `${space}:${name}`;
}
