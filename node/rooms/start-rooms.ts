// Rooms of a node: serves the operations on them, publishes their events and reports their metrics.
import { componentTypeNames } from '../../api/component/types.ts';
import type { RoomEvent } from '../../api/events.ts';
import { nodeMetrics, type Readings } from '../../api/metrics.ts';
import { operations } from '../../api/operations/table.ts';
import type { ReloadableValues } from '../../api/settings/reloadable.ts';
import { kindSchema } from '../../api/track.ts';
import type { FeatureContext } from '../common/feature-context.ts';
import { currentSpan, withoutRequestContext } from '../common/request-context.ts';
import { LocalRooms, type LocalRoomsOptions } from './local-rooms.ts';
import { roomHandlers } from './room-handlers.ts';
import type { PeerTokens } from './tokens/peer-tokens.ts';

export type RoomsContext = FeatureContext &
  Pick<LocalRoomsOptions, 'node' | 'engine' | 'components' | 'clustered'> & {
    hot: { readonly current: Pick<ReloadableValues, 'limits' | 'roomDefaults' | 'timeouts'> };
    /** `host`: SVC_HOST. */
    address: { readonly host: string };
    tokens: PeerTokens;
    publish: (event: RoomEvent, webhookUrl: string | null, trace?: string) => void;
  };

export function createRooms(context: RoomsContext): LocalRooms {
  const { log, registry, metrics, closers, hot, address, tokens, publish, node, engine, components, clustered } = context;
  const rooms = new LocalRooms({
    ...{ log, node, engine, components, clustered },
    address: () => address.host,
    limits: () => {
      const { limits, roomDefaults, timeouts } = hot.current;
      return { ...limits, ...roomDefaults, accessTokenMaxTtl: timeouts.accessTokenMaxTtl };
    },
    signToken: (claims) => tokens.sign(claims),
    // Subscribers outlive the request that caused the event.
    onEvent: (event, { config, trace }) => {
      const cause = currentSpan()?.traceparent ?? trace;
      withoutRequestContext(() => publish(event, config.webhookUrl, cause));
    },
  });
  registry.serve(operations, roomHandlers(rooms));
  metrics.collect(nodeMetrics.rooms, () => roomReadings(rooms));
  closers.add('rooms', () => rooms.close('shutdown'));
  return rooms;
}

function roomReadings(rooms: LocalRooms): Readings<typeof nodeMetrics.rooms> {
  // Every possible label is included, so that its series exists from the start.
  const tracks = new Map<string, number>(kindSchema.options.map((kind) => [kind, 0]));
  const components = new Map<string, number>(componentTypeNames.map((type) => [type, 0]));
  let waitingPeers = 0;
  for (const room of rooms.all()) {
    waitingPeers += room.peers.waitingCount;
    for (const { type } of room.components.all()) components.set(type, (components.get(type) ?? 0) + 1);
    for (const { kind } of room.tracks()) tracks.set(kind, (tracks.get(kind) ?? 0) + 1);
  }
  return {
    rooms: rooms.size,
    peers: rooms.connectedPeers,
    waitingPeers,
    components: [...components].map(([type, count]) => [{ type }, count] as const),
    tracks: [...tracks].map(([kind, count]) => [{ kind }, count] as const),
  };
}
