// Room creation in the cluster: reserves names at the arbiter, chooses a node by load, and tries the next one if it rejects the room.
import { ServiceError } from '../../api/errors.ts';
import { type CreatedRoom, type NameReservation, nodeRpcs, type ReservedName, roomCreationMs } from '../../api/operations/node-rpcs.ts';
import type { RoomOptions } from '../../api/room.ts';
import type { Log } from '../common/log.ts';
import { newId } from '../rooms/ids.ts';
import { type Arbiter, arbiterOf, type ReserveResult } from './arbiter.ts';
import type { ClusterTransport } from './cluster-transport.ts';
import type { LoadPoll } from './load-poll.ts';
import { choosePlacement } from './placement.ts';
import type { Dispatcher } from './rpc/dispatcher.ts';

/** Milliseconds after which no node is requested to create the room any more. */
const lastAttemptMs = roomCreationMs - nodeRpcs.createLocalRoom.timeoutMs;
const sameCallerPause = 25;

export type RoomCreatorOptions = {
  links: Pick<ClusterTransport, 'self' | 'nodes' | 'cast'>;
  dispatcher: Pick<Dispatcher, 'at'>;
  arbiter: Arbiter;
  loads: Pick<LoadPoll, 'choose' | 'assign'>;
  log: Log;
  /** The room with this externalId, if it exists. */
  findByExternalId: (externalId: string) => Promise<CreatedRoom | undefined>;
  sleep: (milliseconds: number) => Promise<void>;
  /** Monotonic clock in milliseconds. */
  now: () => number;
};

export class RoomCreator {
  readonly #options: RoomCreatorOptions;

  constructor(options: RoomCreatorOptions) {
    this.#options = options;
  }

  /** @throws ServiceError `already_exists`, `no_node_accepts_rooms`, `node_unreachable`, `unavailable` */
  async create(options: RoomOptions): Promise<CreatedRoom> {
    const { externalId, roomId } = options;
    const attemptsUntil = this.#options.now() + lastAttemptMs;
    const names: ReservedName[] = [];
    // The externalId comes first: if both names are in use, it identifies the room of the caller.
    if (externalId !== undefined) names.push({ space: 'externalId', name: externalId });
    if (roomId !== undefined) names.push({ space: 'id', name: roomId });
    if (names.length === 0) return this.#place({ ...options, roomId: newId() }, null, attemptsUntil);
    const reservation = { names, ticket: newId() };
    const known = await this.#reserve(reservation, externalId, attemptsUntil);
    if (known) return known;
    try {
      return await this.#place({ ...options, roomId: roomId ?? newId() }, reservation, attemptsUntil);
    } catch (error) {
      // A node that did not respond may still have created the room, so the names stay reserved until they expire or the room is announced.
      if (!(error instanceof ServiceError) || error.code !== 'node_unreachable') this.release(reservation);
      throw error;
    }
  }

  /** Sent to every node, because the arbiter may have changed. */
  release({ names, ticket }: NameReservation): void {
    const { links, arbiter } = this.#options;
    arbiter.release(names, ticket);
    for (const node of links.nodes()) links.cast(node, 'release', { names, ticket });
  }

  /** Resolves with the existing room of the same externalId, or with undefined once the names are reserved. */
  async #reserve(reservation: NameReservation, externalId: string | undefined, attemptsUntil: number): Promise<CreatedRoom | undefined> {
    for (;;) {
      const known = externalId === undefined ? undefined : await this.#options.findByExternalId(externalId);
      if (known) return known;
      const answer = await this.#ask(reservation);
      if (answer.ok) return undefined;
      if (answer.taken.space === 'id') {
        throw new ServiceError('already_exists', `Cannot add room with id "${answer.taken.name}" - room already exists`);
      }
      // The first request with this externalId is in progress, or its room was not announced to this node yet.
      if (this.#options.now() > attemptsUntil) {
        throw new ServiceError('unavailable', 'The same request is still in progress', { retryAfter: 1 });
      }
      await this.#options.sleep(sameCallerPause);
    }
  }

  async #ask({ names, ticket }: NameReservation): Promise<ReserveResult> {
    const { links, dispatcher } = this.#options;
    return dispatcher.at(arbiterOf(links.self, links.nodes()), nodeRpcs.reserve, { names, ticket });
  }

  async #place(options: RoomOptions, reservation: NameReservation | null, attemptsUntil: number): Promise<CreatedRoom> {
    const { links, dispatcher, loads, log, now } = this.#options;
    const { order, reasons } = await loads.choose((candidates) => {
      const placementDecision = choosePlacement(candidates, links.self);
      const [best] = placementDecision.order;
      if (best !== undefined) loads.assign(best);
      return placementDecision;
    });
    for (const [index, node] of order.entries()) {
      if (now() > attemptsUntil) throw new ServiceError('unavailable', 'The nodes respond too slowly', { retryAfter: 1 });
      if (index > 0) loads.assign(node);
      try {
        // That node ends the reservation after it announced the room to all nodes.
        const created = await dispatcher.at(node, nodeRpcs.createLocalRoom, { options, reservation });
        log[order.length > 1 ? 'info' : 'debug']({ room: options.roomId, node, reasons }, 'room placed');
        return created;
      } catch (error) {
        if (!(error instanceof ServiceError) || (error.code !== 'no_node_accepts_rooms' && error.code !== 'unavailable')) throw error;
        log.info({ room: options.roomId, node, reason: error.message }, 'node rejected room, trying next candidate');
      }
    }
    throw new ServiceError('no_node_accepts_rooms', 'No node accepts rooms', { retryAfter: 5 });
  }
}
