// Stats collector: measures the media of one room, shares the result for at least a second and limits the load on the media worker.

import { connectionQuality, type PeerStats, type RoomStats } from '../../api/stats.ts';
import type { Component } from './component.ts';
import { type Peer, type PeerPresence, statusOf } from './peers/peer.ts';

/** Time that stats are reused, in milliseconds; after a slow measurement, long enough to spend less than a tenth of the time measuring. */
const statsTtlMs = 1_000;
const dutyDivisor = 10;
/** Maximum number of tracks measured per room, and a minimum per peer. */
const maxTracks = 1_000;
const fewestOfPeer = 2;
/** Number of peers measured concurrently. */
const atOnce = 16;

type MeasuredPeer = Pick<Peer, 'id'> & PeerPresence & { readonly session: Pick<Peer['session'], 'mediaStats'> };

export type RoomStatsCollectorOptions = {
  roomId: string;
  peers: () => Iterable<MeasuredPeer>;
  components: () => Iterable<Pick<Component, 'id' | 'type' | 'trackStats'>>;
  now?: () => number;
};

export class RoomStatsCollector {
  readonly #options: RoomStatsCollectorOptions;
  readonly #now: () => number;
  #running: Promise<RoomStats> | undefined;
  #last: { stats: RoomStats; until: number } | undefined;

  constructor(options: RoomStatsCollectorOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** @throws ServiceError `unavailable` if the media worker does not respond in time */
  read(): Promise<RoomStats> {
    if (this.#last && this.#now() < this.#last.until) return Promise.resolve(this.#last.stats);
    this.#running ??= this.#measure().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #measure(): Promise<RoomStats> {
    const { roomId } = this.#options;
    const start = this.#now();
    const time = new Date().toISOString();
    const peers = [...this.#options.peers()];
    const most = Math.max(fewestOfPeer, Math.floor(maxTracks / Math.max(1, peers.filter(({ connected }) => connected).length)));
    const measured: PeerStats[] = [];
    for (let index = 0; index < peers.length; index += atOnce)
      measured.push(...(await Promise.all(peers.slice(index, index + atOnce).map((peer) => ofPeer(peer, most)))));
    const components = await Promise.all(
      [...this.#options.components()].map(async (component) => ({
        id: component.id,
        type: component.type,
        published: await component.trackStats(),
      })),
    );
    const stats = { roomId, time, peers: measured, components };
    const end = this.#now();
    this.#last = { stats, until: Math.max(start + statsTtlMs, end + (end - start) * dutyDivisor) };
    return stats;
  }
}

async function ofPeer(peer: MeasuredPeer, most: number): Promise<PeerStats> {
  const stats = peer.connected ? await peer.session.mediaStats(most) : undefined;
  const { up, down, published, received, receivedOmitted } = stats ?? {
    up: null,
    down: null,
    published: [],
    received: [],
    receivedOmitted: 0,
  };
  return { id: peer.id, status: statusOf(peer), quality: connectionQuality({ up, down }), up, down, published, received, receivedOmitted };
}
