// Room list: one row per room, updated by events. It stores one small entry per peer, whatever the size of the metadata.
import type { Room, RoomEvent } from '../../../server-sdk/src/generated/schemas.ts';
import { nameOf } from '../api/types.ts';

/** One row: a new object after a change, otherwise the same one. */
export type RoomRow = {
  id: string;
  incarnation: string;
  externalId: string | undefined;
  maxPeers: number | null;
  videoCodec: string | null;
  /** Numbers of connected and of disconnected peers. */
  present: number;
  expected: number;
  components: number;
  /** Names of some connected peers. */
  names: readonly string[];
};

type PeerEntry = { connected: boolean; name: string | undefined };
type Entry = { room: Room; peers: Map<string, PeerEntry>; components: Set<string>; row: RoomRow | undefined };

const { compare: byName } = new Intl.Collator('en', { numeric: true });
const maxNames = 3;
const maxName = 40;

export class RoomList {
  #entries = new Map<string, Entry>();

  constructor(rooms: readonly Room[] = []) {
    for (const room of rooms) this.put(room);
  }

  has(event: RoomEvent): boolean {
    return this.#entries.has(event.incarnation);
  }

  /** Adds or replaces a room from REST. */
  put(room: Room): void {
    const peers = new Map(
      room.peers.map((peer) => [peer.id, { connected: peer.status === 'connected', name: clip(nameOf(peer.metadata)) }]),
    );
    const components = new Set(room.components.map(({ id }) => id));
    // Peers and components are stored in the maps, without their details.
    this.#entries.set(room.incarnation, { room: { ...room, peers: [], components: [] }, peers, components, row: undefined });
  }

  /** Ignores events of unknown rooms. */
  apply(event: RoomEvent): void {
    const entry = this.#entries.get(event.incarnation);
    if (!entry) return;
    if (event.type === 'RoomDeleted' || event.type === 'RoomCrashed') this.#entries.delete(event.incarnation);
    else if (applyToPeers(entry.peers, event) || applyToComponents(entry.components, event)) entry.row = undefined;
  }

  /** Sorted by id, room-2 before room-10. */
  rows(): RoomRow[] {
    return Array.from(this.#entries.values(), (entry) => {
      entry.row ??= rowOf(entry);
      return entry.row;
    }).sort((a, b) => byName(a.id, b.id));
  }
}

function applyToPeers(peers: Map<string, PeerEntry>, { type, peerId, metadata }: RoomEvent): boolean {
  if (peerId === undefined) return false;
  const peer = peers.get(peerId);
  switch (type) {
    case 'PeerAdded':
      if (!peer) peers.set(peerId, { connected: false, name: clip(nameOf(metadata)) });
      return !peer;
    case 'PeerDeleted':
    case 'PeerCrashed':
      return peers.delete(peerId);
    case 'PeerConnected':
    case 'PeerDisconnected':
      if (peer) peers.set(peerId, { ...peer, connected: type === 'PeerConnected' });
      return peer !== undefined;
    case 'PeerMetadataUpdated':
      if (peer) peers.set(peerId, { ...peer, name: clip(nameOf(metadata)) });
      return peer !== undefined;
    default:
      return false;
  }
}

function applyToComponents(components: Set<string>, { type, componentId }: RoomEvent): boolean {
  if (componentId === undefined) return false;
  if (type === 'ComponentAdded') return !components.has(componentId) && components.add(componentId) !== undefined;
  return (type === 'ComponentRemoved' || type === 'ComponentCrashed') && components.delete(componentId);
}

function rowOf({ room, peers, components }: Entry): RoomRow {
  const names: string[] = [];
  let present = 0;
  for (const { connected, name } of peers.values()) {
    if (!connected) continue;
    present += 1;
    if (name !== undefined && names.length < maxNames) names.push(name);
  }
  const { id, incarnation, externalId, config } = room;
  return {
    id,
    incarnation,
    externalId: externalId ?? undefined,
    maxPeers: config.maxPeers,
    videoCodec: config.videoCodec,
    present,
    expected: peers.size - present,
    components: components.size,
    names,
  };
}

/** Shortens a name, which may be 16 KiB long. */
function clip(name: string | undefined): string | undefined {
  if (name === undefined || name.length <= maxName) return name;
  const characters = Array.from(name.slice(0, maxName * 2));
  return `${characters.slice(0, maxName).join('')}…`;
}

/** Rows whose id, external id or participant names contain the text. */
export function searchRooms(rows: readonly RoomRow[], text: string): readonly RoomRow[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return rows;
  return rows.filter(({ id, externalId, names }) => [id, externalId ?? '', ...names].some((each) => each.toLowerCase().includes(wanted)));
}

export type RoomOrder = { by: 'name' | 'participants' | 'components'; down: boolean };

/** Stable: equal rooms stay in the order of their ids. */
export function sortRooms(rows: readonly RoomRow[], { by, down }: RoomOrder): readonly RoomRow[] {
  if (by === 'name') return down ? rows.toReversed() : rows;
  const count = (row: RoomRow) => (by === 'participants' ? row.present : row.components);
  return rows.toSorted((a, b) => (down ? count(b) - count(a) : count(a) - count(b)));
}
