// Room metrics: rooms of this node with their peers, components and tracks.
import { componentTypeNames } from '../../api/component/types.ts';
import type { nodeMetrics, Readings } from '../../api/metrics.ts';
import { kindSchema } from '../../api/track.ts';
import type { LocalRooms } from './local-rooms.ts';

export function roomReadings(rooms: LocalRooms): Readings<typeof nodeMetrics.rooms> {
  // Every possible label is included, so that its series exists from the start.
  const tracks = new Map<string, number>(kindSchema.options.map((kind) => [kind, 0]));
  const components = new Map<string, number>(componentTypeNames.map((type) => [type, 0]));
  let peers = 0;
  for (const room of rooms.all()) {
    peers += room.connectedPeers;
    for (const { type } of room.components.all()) components.set(type, (components.get(type) ?? 0) + 1);
    for (const { kind } of room.tracks()) tracks.set(kind, (tracks.get(kind) ?? 0) + 1);
  }
  return {
    rooms: rooms.size,
    peers,
    components: [...components].map(([type, count]) => [{ type }, count] as const),
    tracks: [...tracks].map(([kind, count]) => [{ kind }, count] as const),
  };
}
