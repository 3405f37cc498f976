// Local rooms: the rooms of this node.

import { ServiceError } from '../../api/errors.ts';
import type { RoomEvent } from '../../api/events.ts';
import type { CreatedRoom, RoomList } from '../../api/operations/node-rpcs.ts';
import type { PeerOptions } from '../../api/peer.ts';
import { type RoomOptions, roomConfigOf } from '../../api/room.ts';
import type { ReloadableValues } from '../../api/settings/reloadable.ts';
import type { Log } from '../common/log.ts';
import { Timer } from '../common/timer.ts';
import { isBusy } from './busy.ts';
import { newId } from './ids.ts';
import type { ComponentFactory, MediaEngine } from './interfaces.ts';
import type { Peer } from './peers/peer.ts';
import { Room } from './room.ts';
import { Revocations } from './tokens/revocations.ts';

/** End reasons caused by the node, not by a client. */
const endsOfNode = new Set(['draining', 'shutdown']);

/** How long requests for an ended room get `room_ended` instead of `room_not_found`, in milliseconds. */
const tombstoneLifetime = 10 * 60_000;
const maxTombstones = 10_000;
/** While draining, how often rooms are checked in addition to their events: viewers of a stream leave without an event. Milliseconds. */
const drainCheckMs = 5_000;

/** Maximum number of deleted rooms whose tokens are revoked. */
const maxRevoked = 20_000;

/** Defaults and limits of the node, read on every use; times in seconds, except `accessTokenMaxTtl`. */
export type LocalLimits = ReloadableValues['limits'] &
  ReloadableValues['roomDefaults'] &
  Pick<ReloadableValues['timeouts'], 'accessTokenMaxTtl'>;

export type LocalRoomsOptions = {
  node: string;
  log: Log;
  engine: MediaEngine;
  components: ComponentFactory;
  /** True if other nodes exist on which rooms of this node may be recreated. */
  clustered: boolean;
  /** SVC_HOST of this node. */
  address: () => string;
  limits: () => LocalLimits;
  signToken: (claims: { roomId: string; peerId: string }) => Promise<string>;
  /** `room`: its state at the time of the event. */
  onEvent: (event: RoomEvent, room: Pick<Room, 'config' | 'trace'>) => void;
};

/** `created` is false if the `externalId` was repeated. */
export type CreatedPeer = { created: boolean; peer: Peer; token: string };

export class LocalRooms {
  readonly #options: LocalRoomsOptions;
  readonly #rooms = new Map<string, Room>();
  readonly #byExternalId = new Map<string, Room>();
  readonly #ended = new Map<string, { reason: string; at: number }>();
  /** Ids of deleted rooms of all nodes: access tokens that were issued before are not valid any more. */
  readonly revoked: Revocations;
  #accepting = true;
  #draining: PromiseWithResolvers<void> | undefined;
  #drainCheck: Timer | undefined;
  #drainCheckPending = false;

  constructor(options: LocalRoomsOptions) {
    this.#options = options;
    this.revoked = new Revocations({ maxTtl: () => options.limits().accessTokenMaxTtl, max: maxRevoked });
  }

  get accepting(): boolean {
    return this.#accepting && this.#rooms.size < (this.#options.limits().maxRooms ?? Number.POSITIVE_INFINITY);
  }

  /** SVC_HOST of this node. */
  get address(): string {
    return this.#options.address();
  }

  get size(): number {
    return this.#rooms.size;
  }

  all(): Iterable<Room> {
    return this.#rooms.values();
  }

  get connectedPeers(): number {
    let peers = 0;
    for (const room of this.#rooms.values()) peers += room.peers.connectedCount;
    return peers;
  }

  has(roomId: string): boolean {
    return this.#rooms.has(roomId);
  }

  find(roomId: string): Room | undefined {
    return this.#rooms.get(roomId);
  }

  /** @throws ServiceError `room_not_found`, `room_ended` */
  room(roomId: string): Room {
    const room = this.#rooms.get(roomId);
    if (room) return room;
    throw this.#whyNone(roomId);
  }

  /** A room of another node ended: requests on this node get `room_ended` too. */
  endedElsewhere(roomId: string, reason: string): void {
    if (!this.#rooms.has(roomId)) this.#rememberEnd(roomId, reason);
  }

  /** Another node created a room with this id: forgets an earlier end. */
  createdElsewhere(roomId: string): void {
    this.#ended.delete(roomId);
  }

  findPeer(roomId: string, peerId: string): Peer | undefined {
    return this.#rooms.get(roomId)?.peers.find(peerId);
  }

  /**
   * The error for a peer that cannot be admitted.
   * @param incarnation incarnation that the peer was in; it may have been lost with its node
   * @param discovering true if discovery is incomplete, so that another node may have the room
   */
  roomNotFoundError(roomId: string, peerId: string, incarnation: string | undefined, discovering = false): ServiceError {
    const room = this.#rooms.get(roomId);
    if (discovering && !room && !this.#ended.has(roomId))
      return new ServiceError('unavailable', `Room ${roomId} is not known yet: this node is still discovering other nodes`, {
        retryAfter: 1,
      });
    if (room && incarnation !== undefined && room.incarnation !== incarnation)
      return new ServiceError('unavailable', `Room ${roomId} was recreated; peer ${peerId} is not in it yet`);
    if (room || incarnation === undefined) return new ServiceError('peer_not_found', `Peer ${peerId} does not exist in room ${roomId}`);
    const why = this.#whyNone(roomId);
    if (!this.#options.clustered || !endsOfNode.has(this.#ended.get(roomId)?.reason ?? '')) return why;
    // The room ended with its node, so its peers may wait for it to be recreated.
    return new ServiceError('room_not_found', `Room ${roomId} is no longer on this node`);
  }

  async createRoom(options: RoomOptions): Promise<CreatedRoom> {
    const { externalId } = options;
    const known = externalId === undefined ? undefined : this.#byExternalId.get(externalId);
    if (known) return { created: false, room: known.view(), address: this.address };
    const id = options.roomId ?? newId();
    if (this.#rooms.has(id)) throw new ServiceError('already_exists', `Cannot add room with id "${id}" - room already exists`);
    if (!this.accepting) throw new ServiceError('no_node_accepts_rooms', 'No node accepts rooms now', { retryAfter: 5 });
    const room = this.#open(id, options);
    return { created: true, room: room.view(), address: this.address };
  }

  async listRooms(page: { limit?: number | undefined; cursor?: string | undefined }): Promise<RoomList> {
    const after = page.cursor ?? '';
    // Incarnations and the map are both in order of creation.
    const rooms = [...this.#rooms.values()].filter((room) => room.incarnation > after);
    const shown = page.limit === undefined ? rooms : rooms.slice(0, page.limit);
    const last = shown.at(-1);
    const more = shown.length < rooms.length && last !== undefined;
    return { rooms: shown.map((room) => room.view()), incomplete: [], ...(more ? { cursor: last.incarnation } : {}) };
  }

  async addPeer(roomId: string, options: PeerOptions): Promise<CreatedPeer> {
    const { peer, created } = this.room(roomId).peers.add(options);
    return { created, peer, token: await this.signPeerToken(peer) };
  }

  /** A new token for the peer; older tokens stay valid until they expire. */
  signPeerToken({ roomId, id }: Peer): Promise<string> {
    return this.#options.signToken({ roomId, peerId: id });
  }

  /**
   * Stops accepting rooms. Rooms that are not busy end at once, the others as soon as they are not busy. Resolves when no room is left,
   * or when the drain is cancelled.
   */
  async drain(): Promise<void> {
    this.#accepting = false;
    this.#draining ??= Promise.withResolvers<void>();
    const { promise } = this.#draining;
    this.#endIdle();
    if (this.#rooms.size === 0) this.#draining.resolve();
    await promise;
  }

  /** Accepts rooms again. */
  cancelDrain(): void {
    this.#accepting = true;
    this.#drainCheck?.stop();
    this.#draining?.resolve();
    this.#draining = undefined;
  }

  /** Ends every room because the node shuts down or its drain deadline has passed. */
  close(reason: string): void {
    this.#accepting = false;
    for (const room of [...this.#rooms.values()]) this.#lose(room, reason);
  }

  #open(id: string, options: RoomOptions): Room {
    const externalId = options.externalId ?? null;
    const room: Room = new Room({
      config: roomConfigOf(id, options, this.#options.limits()),
      externalId,
      node: this.#options.node,
      log: this.#options.log,
      engine: this.#options.engine,
      components: this.#options.components,
      limits: this.#options.limits,
      onEvent: (event) => {
        this.#options.onEvent(event, room);
        this.#checkSoon();
      },
      onEnded: (reason) => this.#forget(id, externalId, reason),
    });
    this.#rooms.set(id, room);
    if (externalId !== null) this.#byExternalId.set(externalId, room);
    this.#ended.delete(id);
    room.created();
    return room;
  }

  #whyNone(roomId: string): ServiceError {
    const ended = this.#ended.get(roomId);
    return ended && Date.now() - ended.at < tombstoneLifetime
      ? new ServiceError('room_ended', `Room ${roomId} has ended: ${ended.reason}`, { reason: ended.reason })
      : new ServiceError('room_not_found', `Room ${roomId} does not exist`);
  }

  #forget(id: string, externalId: string | null, reason: string): void {
    this.#rooms.delete(id);
    if (externalId !== null) this.#byExternalId.delete(externalId);
    this.#rememberEnd(id, reason);
    if (this.#rooms.size === 0) this.#draining?.resolve();
  }

  #rememberEnd(id: string, reason: string): void {
    if (reason === 'deleted') this.revoked.add(id);
    this.#ended.delete(id);
    this.#ended.set(id, { reason, at: Date.now() });
    for (const [oldest, { at }] of this.#ended) {
      if (this.#ended.size <= maxTombstones && Date.now() - at < tombstoneLifetime) break;
      this.#ended.delete(oldest);
    }
  }

  /** After an event: what the drain waits for may have ended. */
  #checkSoon(): void {
    if (!this.#draining || this.#drainCheckPending) return;
    this.#drainCheckPending = true;
    setImmediate(() => {
      this.#drainCheckPending = false;
      if (this.#draining) this.#endIdle();
    });
  }

  #endIdle(): void {
    this.#drainCheck?.stop();
    for (const room of [...this.#rooms.values()]) if (!isBusy(room)) this.#lose(room, 'draining');
    if (this.#rooms.size > 0) this.#drainCheck = new Timer(drainCheckMs, () => this.#checkSoon());
  }

  #lose(room: Room, reason: string): void {
    room.close(reason, this.#options.clustered ? 'roomMoved' : 'roomStopped');
  }
}
