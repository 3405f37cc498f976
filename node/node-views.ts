// Node views: health, load, effective configuration and drain preview of a node.

import type { HealthView } from '../api/health.ts';
import type { DrainView, NodeConfig } from '../api/node.ts';
import { effectiveConfig } from './config/effective-config.ts';
import type { ReloadableConfig } from './config/reloadable-config.ts';
import type { Config } from './config.ts';
import type { Drain } from './drain.ts';
import type { LocalRooms } from './rooms/local-rooms.ts';
import { version } from './version.ts';

export function loadOf(rooms: LocalRooms, media: { load(): { forwardedTracks: number } }): HealthView['load'] {
  let connectedPeers = 0;
  for (const room of rooms.all()) connectedPeers += room.connectedPeers;
  return { rooms: rooms.size, connectedPeers, forwardedTracks: media.load().forwardedTracks };
}

type HealthFacts = {
  config: Config;
  hot: ReloadableConfig;
  startedAt: number;
  status: Pick<HealthView, 'status' | 'reason'>;
  state: HealthView['state'];
  distribution: HealthView['distribution'] | undefined;
  load: HealthView['load'];
};

export function healthOf({ config, hot, startedAt, status, state, distribution, load }: HealthFacts): HealthView {
  return {
    ...status,
    uptime: Math.floor((Date.now() - startedAt) / 1000),
    version,
    gitCommit: config.gitCommit,
    distribution: distribution ?? { enabled: config.dist.enabled, nodeStatus: 'DOWN', nodesInCluster: 0 },
    state,
    load,
    config: filesOf(hot),
  };
}

export function drainViewOf({ state, deadline }: Drain, rooms: LocalRooms, { drainTimeout }: Config): DrainView {
  let connectedPeers = 0;
  let roomsWithPeers = 0;
  for (const room of rooms.all()) {
    connectedPeers += room.connectedPeers;
    if (room.connectedPeers > 0) roomsWithPeers += 1;
  }
  const until = deadline?.toISOString() ?? null;
  return { state, deadline: until, defaultDeadline: Math.floor(drainTimeout / 1000), rooms: rooms.size, roomsWithPeers, connectedPeers };
}

/** `addresses`: with the ports actually bound. */
export function nodeConfigOf(
  node: string,
  { config, hot, warnings }: { config: Config; hot: ReloadableConfig; warnings: readonly string[] },
  addresses: { host: string; internalAddress: string },
): NodeConfig {
  const values = effectiveConfig(config, hot, {
    HOST: addresses.host,
    INTERNAL_ADDRESS: addresses.internalAddress,
    DIST_NODE_NAME: node,
  });
  return { node, values, config: filesOf(hot), warnings: [...warnings] };
}

function filesOf(hot: ReloadableConfig): HealthView['config'] {
  return { files: [...hot.files()], shadowed: [...hot.shadowed], error: hot.error };
}
