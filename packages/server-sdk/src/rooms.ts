// Rooms, their peers and the tracks in them.
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

  /** Makes a room on the node with the lowest load. Without an `externalId` one is made up, so that repeating the call makes one room. */
  async create(room: RoomOptions = {}, options?: RequestOptions): Promise<CreatedRoom> {
    return (await this.#transport.call('createRoom', { body: withExternalId(room) }, options)).data;
  }

  async get(roomId: string, options?: RequestOptions): Promise<Room> {
    return (await this.#transport.call('getRoom', { path: { roomId } }, options)).data;
  }

  /** One page; `incomplete` names nodes whose rooms are missing. */
  async list(page: { limit?: number; cursor?: string } = {}, options?: RequestOptions): Promise<RoomPage> {
    return this.#transport.call('listRooms', { query: page }, options);
  }

  /** All rooms of the cluster, page after page; `incomplete` names nodes whose rooms are missing. */
  async all(options?: RequestOptions): Promise<{ rooms: Room[]; incomplete: string[] }> {
    const rooms: Room[] = [];
    const incomplete = new Set<string>();
    for (let cursor: string | undefined; ; ) {
      const page: RoomPage = await this.list({ limit: pageSize, ...(cursor !== undefined && { cursor }) }, options);
      rooms.push(...page.data);
      for (const node of page.incomplete) incomplete.add(node);
      // A cursor that does not move would have no end.
      if (page.cursor === undefined || page.cursor === cursor) return { rooms, incomplete: [...incomplete] };
      cursor = page.cursor;
    }
  }

  /** Changes what can change while the room lives; what is left out stays. */
  async update(roomId: string, patch: RoomPatch, options?: RequestOptions): Promise<Room> {
    return (await this.#transport.call('updateRoom', { path: { roomId }, body: patch }, options)).data;
  }

  /** How its media goes: links, tracks, loss, round trip, bitrates; measured once a second at most, however many ask. */
  async stats(roomId: string, options?: RequestOptions): Promise<RoomStats> {
    return (await this.#transport.call('getRoomStats', { path: { roomId } }, options)).data;
  }

  /** Ends a room and everything in it. */
  async delete(roomId: string, options?: RequestOptions): Promise<void> {
    await this.#transport.call('deleteRoom', { path: { roomId } }, options);
  }

  /** A message from the server to peers, to all where `to` is left out. It is not repeated where its answer was lost. */
  async sendData(roomId: string, label: string, payload: Json, to?: readonly string[], options?: RequestOptions): Promise<void> {
    const body = { label, payload, ...(to && { to: [...to] }) };
    await this.#transport.call('sendData', { path: { roomId }, body }, options);
  }
}

/** `type` is there to be left out. */
export type NewPeer = Omit<PeerOptions, 'type'>;

export class Peers {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Adds a peer: its `token` and `peer_websocket_url` are what its browser needs. Repeating the call adds one peer, as with rooms. */
  async add(roomId: string, peer: NewPeer = {}, options?: RequestOptions): Promise<CreatedPeer> {
    const body = withExternalId({ ...peer, type: 'webrtc' as const });
    return (await this.#transport.call('addPeer', { path: { roomId }, body }, options)).data;
  }

  async get(roomId: string, peerId: string, options?: RequestOptions): Promise<FoundPeer> {
    return (await this.#transport.call('getPeer', { path: { roomId, peerId } }, options)).data;
  }

  /** What the peer may do, in force at once. */
  async update(roomId: string, peerId: string, patch: PeerPatch, options?: RequestOptions): Promise<FoundPeer> {
    return (await this.#transport.call('updatePeer', { path: { roomId, peerId }, body: patch }, options)).data;
  }

  async delete(roomId: string, peerId: string, options?: RequestOptions): Promise<void> {
    await this.#transport.call('deletePeer', { path: { roomId, peerId } }, options);
  }

  /** A fresh token; older ones stay good until they expire. */
  async renewToken(roomId: string, peerId: string, options?: RequestOptions): Promise<string> {
    return (await this.#transport.call('renewPeerToken', { path: { roomId, peerId } }, options)).data.token;
  }
}

/** Moderation. */
export class Tracks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async mute(roomId: string, trackId: string, options?: RequestOptions): Promise<void> {
    await this.#transport.call('muteTrack', { path: { roomId, trackId } }, options);
  }

  /** Of a track that the server muted. */
  async unmute(roomId: string, trackId: string, options?: RequestOptions): Promise<void> {
    await this.#transport.call('unmuteTrack', { path: { roomId, trackId } }, options);
  }

  async delete(roomId: string, trackId: string, options?: RequestOptions): Promise<void> {
    await this.#transport.call('deleteTrack', { path: { roomId, trackId } }, options);
  }
}
