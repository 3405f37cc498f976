// Media of a node: starts its workers by the settings.
import type { Log } from '../../common/log.ts';
import type { AnnouncedAddresses } from '../../config/announced.ts';
import type { ReloadableConfigView } from '../../config/reloadable-config.ts';
import { addressesWithTurn, turnRelayAddress } from '../../config/turn.ts';
import type { WebrtcConfig } from '../../config/webrtc.ts';
import { type MediaWorkerPool, startMediaWorkerPool } from './worker-pool.ts';

export type MediaContext = {
  webrtc: WebrtcConfig;
  hot: Pick<ReloadableConfigView, 'current'>;
  announced: Pick<AnnouncedAddresses, 'current'>;
  log: Log;
  /** True if other nodes accept rooms. */
  elsewhere: () => boolean;
};

/** @throws Error with one sentence */
export function startMedia({ webrtc, hot, announced, log, elsewhere }: MediaContext): Promise<MediaWorkerPool> {
  const { listenIp, basePort, workers, turn } = webrtc;
  return startMediaWorkerPool({
    log,
    listenIp,
    announced: () => addressesWithTurn(announced.current, turn),
    basePort: basePort ?? undefined,
    workers,
    maxIncomingBitrate: () => hot.current.webrtc.maxIncomingBitrate ?? undefined,
    relayIp: turnRelayAddress(turn),
    elsewhere,
  });
}
