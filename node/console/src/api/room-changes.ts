// What an event changes in the list of rooms: a plain function, so that events can be folded over a list fetched meanwhile.
import type { Component, Peer, Room, RoomEvent } from './shapes.ts';

export function applyRoomEvent(rooms: readonly Room[], event: RoomEvent): readonly Room[] {
  const index = rooms.findIndex((room) => room.id === event.roomId && room.incarnation === event.incarnation);
  if (index < 0) return rooms;
  if (event.type === 'RoomDeleted' || event.type === 'RoomCrashed') return rooms.toSpliced(index, 1);
  const room = rooms[index] as Room;
  const peers = applyToPeers(room.peers, event);
  const components = applyToComponents(room.components, event);
  return peers === room.peers && components === room.components ? rooms : rooms.with(index, { ...room, peers, components });
}

function applyToComponents(components: Component[], { type, componentId }: RoomEvent): Component[] {
  if (componentId === undefined) return components;
  const others = components.filter(({ id }) => id !== componentId);
  if (type === 'ComponentAdded') return [...others, { id: componentId }];
  return type === 'ComponentRemoved' || type === 'ComponentCrashed' ? others : components;
}

function applyToPeers(peers: Peer[], event: RoomEvent): Peer[] {
  const { type, peerId } = event;
  if (peerId === undefined) return peers;
  const change = (part: Partial<Peer>) => peers.map((peer) => (peer.id === peerId ? { ...peer, ...part } : peer));
  switch (type) {
    case 'PeerAdded':
      if (peers.some((peer) => peer.id === peerId)) return peers;
      return [...peers, { id: peerId, status: 'disconnected', metadata: event.metadata ?? null, tracks: [] }];
    case 'PeerDeleted':
    case 'PeerCrashed':
      return peers.filter((peer) => peer.id !== peerId);
    case 'PeerConnected':
      return change({ status: 'connected' });
    case 'PeerDisconnected':
      return change({ status: 'disconnected', tracks: [] });
    case 'PeerMetadataUpdated':
      return change({ metadata: event.metadata ?? null });
    default:
      return peers;
  }
}
