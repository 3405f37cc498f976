// Connection quality: reports the ratings of all peers of a room to its LiveKit clients, every few seconds.
import { ConnectionQuality, ConnectionQualityInfo, ConnectionQualityUpdate } from '@livekit/protocol';
import { toServiceError } from '../../api/errors.ts';
import type { PeerStats, Quality, RoomStats } from '../../api/stats.ts';
import type { Log } from '../common/log.ts';
import { Timer } from '../common/timer.ts';
import type { Message } from './messages.ts';

/** `score`: 0 to 5. Without a row nothing is reported. */
const ratings: Partial<Record<Quality, { quality: ConnectionQuality; score: number }>> = {
  excellent: { quality: ConnectionQuality.EXCELLENT, score: 5 },
  good: { quality: ConnectionQuality.GOOD, score: 4 },
  poor: { quality: ConnectionQuality.POOR, score: 2 },
  bad: { quality: ConnectionQuality.POOR, score: 1 },
  lost: { quality: ConnectionQuality.LOST, score: 0 },
};

export type RatedPeer = Pick<PeerStats, 'id' | 'quality'>;
export type Rating = { sid: string; quality: Quality };

/** @returns undefined if there is nothing to report */
export function qualityMessage(changed: readonly Rating[]): Message | undefined {
  const updates = changed.flatMap(({ sid, quality }) => {
    const rating = ratings[quality];
    return rating ? [new ConnectionQualityInfo({ participantSid: sid, ...rating })] : [];
  });
  return updates.length > 0 ? { case: 'connectionQuality', value: new ConnectionQualityUpdate({ updates }) } : undefined;
}

type RatedSession = { peer: { roomId: string }; rated: (peers: readonly RatedPeer[]) => void };
export type QualityReportsOptions = {
  log: Log;
  /** In milliseconds. */
  interval: number;
  sessions: () => Iterable<RatedSession>;
  /** @throws ServiceError */
  statsOf: (roomId: string) => Promise<Pick<RoomStats, 'peers'>>;
};

/** Measures each room once for all its sessions, while there are any. */
export class QualityReports {
  readonly #options: QualityReportsOptions;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(options: QualityReportsOptions) {
    this.#options = options;
  }

  /** A session began. */
  start(): void {
    if (!this.#stopped) this.#timer ??= new Timer(this.#options.interval, () => void this.#report());
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.stop();
  }

  async #report(): Promise<void> {
    const rooms = Map.groupBy(this.#options.sessions(), ({ peer }) => peer.roomId);
    await Promise.all([...rooms].map(([roomId, sessions]) => this.#reportRoom(roomId, sessions)));
    this.#timer = undefined;
    if (rooms.size > 0) this.start();
  }

  async #reportRoom(roomId: string, sessions: readonly RatedSession[]): Promise<void> {
    try {
      const { peers } = await this.#options.statsOf(roomId);
      for (const session of sessions) session.rated(peers);
    } catch (error) {
      this.#options.log.debug({ room: roomId, reason: toServiceError(error).message }, 'could not measure connections of room');
    }
  }
}
