// Rooms, their peers and their tracks.
import type {
  CreatedPeer,
  CreatedRoom,
  FoundPeer,
  Json,
  PeerOptions,
  PeerPatch,
  Room,
  RoomOptions,
  RoomPage,
  RoomPatch,
  RoomStats,
} from './generated/schemas.ts';
import { withExternalId } from './idempotency.ts';
import type { RequestOptions } from './options.ts';
import type { Transport } from './transport.ts';

const pageSize = 1_000;

export class Rooms {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Creates a room on the least loaded node. An `externalId` is generated if omitted, so that a retry creates no second room.
   * @throws MediaroomsError `already_exists`, `invalid_field`, `no_node_accepts_rooms`
   */
  async create(room: RoomOptions = {}, options?: RequestOptions): Promise<CreatedRoom> {
    return (await this.#transport.call('createRoom', { body: withExternalId(room) }, options)).data;
  }

  /** A room with its peers and components. @throws MediaroomsError `room_not_found`, `room_ended`, `node_unreachable` */
  async get(roomId: string, options?: RequestOptions): Promise<Room> {
    return (await this.#transport.call('getRoom', { path: { roomId } }, options)).data;
  }

  /**
   * One page of rooms; `cursor` of the result requests the next one. `incomplete` lists nodes whose rooms are missing.
   * @throws MediaroomsError
   */
  async list(page: { limit?: number; cursor?: string } = {}, options?: RequestOptions): Promise<RoomPage> {
    return this.#transport.call('listRooms', { query: page }, options);
  }

  /** All rooms of the cluster, read page by page; `incomplete` lists nodes whose rooms are missing. @throws MediaroomsError */
  async all(options?: RequestOptions): Promise<{ rooms: Room[]; incomplete: string[] }> {
    const rooms: Room[] = [];
    const incomplete = new Set<string>();
    for (let cursor: string | undefined; ; ) {
      const page: RoomPage = await this.list({ limit: pageSize, ...(cursor !== undefined && { cursor }) }, options);
      rooms.push(...page.data);
      for (const node of page.incomplete) incomplete.add(node);
      // A cursor that does not advance would loop forever.
      if (page.cursor === undefined || page.cursor === cursor) return { rooms, incomplete: [...incomplete] };
      cursor = page.cursor;
    }
  }

  /**
   * Changes options of a room; omitted fields stay unchanged. Times in seconds.
   * @throws MediaroomsError `room_not_found`, `invalid_field`
   */
  async update(roomId: string, patch: RoomPatch, options?: RequestOptions): Promise<Room> {
    return (await this.#transport.call('updateRoom', { path: { roomId }, body: patch }, options)).data;
  }

  /**
   * Media stats of a room: bitrates in bit/s, loss from 0 to 1, round trip and jitter in milliseconds. Measured at most once per second.
   * @throws MediaroomsError `room_not_found`, `unavailable`
   */
  async stats(roomId: string, options?: RequestOptions): Promise<RoomStats> {
    return (await this.#transport.call('getRoomStats', { path: { roomId } }, options)).data;
  }

  /** Ends a room with all peers and components. @throws MediaroomsError `room_not_found` */
  async delete(roomId: string, options?: RequestOptions): Promise<void> {
    await this.#transport.call('deleteRoom', { path: { roomId } }, options);
  }

  /**
   * Sends a message from the server to the peers in `to`, by default to all. Not retried if its response was lost.
   * @throws MediaroomsError `room_not_found`, `peer_not_found`
   */
  async sendData(roomId: string, label: string, payload: Json, to?: readonly string[], options?: RequestOptions): Promise<void> {
    const body = { label, payload, ...(to && { to: [...to] }) };
    await this.#transport.call('sendData', { path: { roomId }, body }, options);
  }
}

/** `type` is always `webrtc` and therefore omitted. */
export type NewPeer = Omit<PeerOptions, 'type'>;

export class Peers {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Adds a peer; its browser needs the returned `token` and `peer_websocket_url`. An `externalId` is generated if omitted, so that a retry
   * adds no second peer.
   * @throws MediaroomsError `room_not_found`, `room_full`, `already_exists`
   */
  async add(roomId: string, peer: NewPeer = {}, options?: RequestOptions): Promise<CreatedPeer> {
    const body = withExternalId({ ...peer, type: 'webrtc' as const });
    return (await this.#transport.call('addPeer', { path: { roomId }, body }, options)).data;
  }

  /** A peer with its tracks. @throws MediaroomsError `room_not_found`, `peer_not_found` */
  async get(roomId: string, peerId: string, options?: RequestOptions): Promise<FoundPeer> {
    return (await this.#transport.call('getPeer', { path: { roomId, peerId } }, options)).data;
  }

  /** Changes permissions, effective at once; omitted ones stay unchanged. @throws MediaroomsError `room_not_found`, `peer_not_found` */
  async update(roomId: string, peerId: string, patch: PeerPatch, options?: RequestOptions): Promise<FoundPeer> {
    return (await this.#transport.call('updatePeer', { path: { roomId, peerId }, body: patch }, options)).data;
  }

  /** Removes a peer from its room and disconnects it. @throws MediaroomsError `room_not_found`, `peer_not_found` */
  async delete(roomId: string, peerId: string, options?: RequestOptions): Promise<void> {
    await this.#transport.call('deletePeer', { path: { roomId, peerId } }, options);
  }

  /**
   * A new token, valid for 24 hours; older tokens stay valid until they expire.
   * @throws MediaroomsError `room_not_found`, `peer_not_found`
   */
  async renewToken(roomId: string, peerId: string, options?: RequestOptions): Promise<string> {
    return (await this.#transport.call('renewPeerToken', { path: { roomId, peerId } }, options)).data.token;
  }
}

/** Moderation of tracks. All methods reject with MediaroomsError `room_not_found` or `track_not_found`. */
export class Tracks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Mutes a track for all receivers; its publisher cannot undo it. */
  async mute(roomId: string, trackId: string, options?: RequestOptions): Promise<void> {
    await this.#transport.call('muteTrack', { path: { roomId, trackId } }, options);
  }

  /** Unmutes a track that the server muted. */
  async unmute(roomId: string, trackId: string, options?: RequestOptions): Promise<void> {
    await this.#transport.call('unmuteTrack', { path: { roomId, trackId } }, options);
  }

  /** Removes a track; publishing the same track again is rejected. */
  async delete(roomId: string, trackId: string, options?: RequestOptions): Promise<void> {
    await this.#transport.call('deleteTrack', { path: { roomId, trackId } }, options);
  }
}
