// Node health: /health and /readyz of a node.
import type { HealthView } from '../api/health.ts';
import { ContainerCpu } from './common/container-cpu.ts';
import type { AnnouncedAddresses } from './config/announced.ts';
import type { ReloadableConfig } from './config/reloadable-config.ts';
import type { Config } from './config.ts';
import type { Distribution } from './distribution.ts';
import type { Drain } from './drain.ts';
import type { MediaWorkerPool } from './media/worker/worker-pool.ts';
import { diskProblem, statusOf } from './node-status.ts';
import { busyOf } from './rooms/busy.ts';
import type { LocalRooms } from './rooms/local-rooms.ts';
import { version } from './version.ts';

export type HealthSources = {
  config: Config;
  hot: ReloadableConfig;
  announced: AnnouncedAddresses;
  media: MediaWorkerPool;
  rooms: LocalRooms;
  drain: Drain;
  distribution: Distribution;
  cluster: { rooms: { rejected: number } };
};

export function createHealth(sources: HealthSources): { ready: () => boolean; health: () => Promise<HealthView> } {
  const { config, hot, announced, media, rooms, drain, distribution, cluster } = sources;
  const cpu = new ContainerCpu();
  const startedAt = Date.now();
  const ready = () => announced.ready && distribution.synced;
  const health = async () => {
    const disk = await diskProblem(config.resourcesBasePath);
    const { state } = drain;
    return {
      ...statusOf({ state, ready: ready(), workers: media.workers(), disk }),
      uptime: Math.floor((Date.now() - startedAt) / 1000),
      version,
      gitCommit: config.gitCommit,
      distribution: distribution.status,
      state,
      busy: busyOf(rooms.all()),
      load: {
        rooms: rooms.size,
        connectedPeers: rooms.connectedPeers,
        forwardedTracks: media.load().forwardedTracks,
        streams: streamsOf(rooms),
        cpu: await cpu.read(),
        rejectedRooms: cluster.rooms.rejected,
      },
      config: filesOf(hot),
    };
  };
  return { ready, health };
}

function streamsOf(rooms: LocalRooms): number {
  let streams = 0;
  for (const { components } of rooms.all()) for (const { type } of components.all()) if (type === 'hls') streams += 1;
  return streams;
}

export function filesOf(hot: ReloadableConfig): HealthView['config'] {
  return { files: [...hot.files()], shadowed: [...hot.shadowed], error: hot.error };
}
