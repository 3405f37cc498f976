// Stats history: the last minutes of stats of each connected peer, for the charts.
import type { PeerStats, RoomStats } from '../../../../server-sdk/src/generated/schemas.ts';

/** Number of kept measurements per peer. */
export const kept = 60;

export type PeerHistory = {
  up: (number | null)[];
  down: (number | null)[];
  loss: (number | null)[];
  roundTrip: (number | null)[];
};

const nothing: PeerHistory = { up: [], down: [], loss: [], roundTrip: [] };

export class StatsHistory {
  readonly #peers = new Map<string, PeerHistory>();
  #time: string | undefined;

  /** Adds a measurement; a repeated one is ignored. */
  add({ time, peers }: RoomStats): void {
    if (time === this.#time) return;
    this.#time = time;
    const there = new Set(peers.map(({ id }) => id));
    for (const id of this.#peers.keys()) if (!there.has(id)) this.#peers.delete(id);
    for (const peer of peers) this.#peers.set(peer.id, longer(this.of(peer.id), peer));
  }

  of(peerId: string): PeerHistory {
    return this.#peers.get(peerId) ?? nothing;
  }
}

function longer(history: PeerHistory, { up, down }: PeerStats): PeerHistory {
  const and = (values: (number | null)[], value: number | null) => [...values, value].slice(-kept);
  return {
    up: and(history.up, up?.bitrate ?? null),
    down: and(history.down, down?.bitrate ?? null),
    loss: and(history.loss, worse(up?.loss, down?.loss)),
    roundTrip: and(history.roundTrip, worse(up?.roundTrip, down?.roundTrip)),
  };
}

/** The larger of the known values. */
export function worse(one: number | null | undefined, other: number | null | undefined): number | null {
  if (one === null || one === undefined) return other ?? null;
  return other === null || other === undefined ? one : Math.max(one, other);
}
