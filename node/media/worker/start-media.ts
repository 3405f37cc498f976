// Media of a node: starts its workers by the settings.
import { nodeMetrics } from '../../../api/metrics.ts';
import type { FeatureContext } from '../../common/feature-context.ts';
import type { AnnouncedAddresses } from '../../config/announced.ts';
import type { ReloadableConfigView } from '../../config/reloadable-config.ts';
import { addressesWithTurn, turnRelayAddress } from '../../config/turn.ts';
import type { WebrtcConfig } from '../../config/webrtc.ts';
import type { EventFeed } from '../../rooms/event-feed.ts';
import { legReadings, workerProcessReadings, workerReadings } from './worker-metrics.ts';
import { type MediaWorkerPool, startMediaWorkerPool } from './worker-pool.ts';

export type MediaContext = Pick<FeatureContext, 'log' | 'metrics' | 'closers'> & {
  webrtc: WebrtcConfig;
  hot: Pick<ReloadableConfigView, 'current'>;
  announced: Pick<AnnouncedAddresses, 'current'>;
  members: { readonly accepting: boolean };
};

/** @throws Error with a readable message */
export async function startMedia({ webrtc, hot, announced, members, log, metrics, closers }: MediaContext): Promise<MediaWorkerPool> {
  const { listenIp, basePort, workers, sending, turn } = webrtc;
  const media = await startMediaWorkerPool({
    log,
    listenIp,
    announced: () => addressesWithTurn(announced.current, turn),
    basePort: basePort ?? undefined,
    workers,
    sending,
    maxIncomingBitrate: () => hot.current.webrtc.maxIncomingBitrate ?? undefined,
    maxWorkerTracks: () => hot.current.webrtc.maxWorkerTracks ?? undefined,
    relayIp: turnRelayAddress(turn),
    elsewhere: () => members.accepting,
  });
  closers.add('media', () => media.close());
  metrics.collect(nodeMetrics.workers, () => workerReadings(media.workers()));
  metrics.collect(nodeMetrics.legs, () => legReadings(media.legs()));
  metrics.collectSlow(nodeMetrics.workerProcesses, () => workerProcessReadings(media.workers()));
  metrics.collectSlow(nodeMetrics.mediaTraffic, () => media.traffic());
  metrics.collectSlow(nodeMetrics.pipes, () => media.pipes.read());
  return media;
}

/** Tells the workers about rooms that crashed on other nodes. `events`: of all nodes. */
export function followCrashes(media: MediaWorkerPool, events: EventFeed, self: string): void {
  events.subscribe(({ event: { type, node, roomId, reason = '' } }) => {
    if (type === 'RoomCrashed' && node !== self) media.roomCrashedElsewhere(roomId, reason);
  });
}
