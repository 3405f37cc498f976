// Rooms of the cluster, and options of a new peer.
import { Rooms as RoomMethods } from './generated/methods.ts';
import type { PeerOptions, Room, RoomPage } from './generated/schemas.ts';
import type { RequestOptions } from './options.ts';

const pageSize = 1_000;

export class Rooms extends RoomMethods {
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
}

/** `type` is always `webrtc` and therefore omitted. */
export type NewPeer = Omit<PeerOptions, 'type'>;
