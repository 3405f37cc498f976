// Room series: per-room stats computed from room events, exact at any time.
import type { RoomEvent } from '../../api/events.ts';
import { nodeMetrics, type Readings } from '../../api/metrics.ts';
import type { MetricsRegistry } from '../common/feature-context.ts';
import type { EventFeed } from '../rooms/event-feed.ts';

/** Time for which an ended room is still reported, with zeros, in milliseconds. */
const removedLifetime = 10 * 60_000;
/** Maximum number of ended rooms; the oldest are dropped first, because each adds six series to every scrape. */
const maxRemoved = 2_000;

/** Times in milliseconds. `peerTime`: connection time, summed over peers. */
export type RoomSeriesStats = {
  peers: number;
  peerTime: number;
  duration: number;
  connects: number;
  disconnects: number;
  crashes: number;
};

type LivingRoom = {
  incarnation: string;
  openedAt: number;
  peers: number;
  peerTime: number;
  /** Time up to which peerTime is computed. */
  countedAt: number;
  connects: number;
  disconnects: number;
  crashes: number;
};

const nothing: RoomSeriesStats = { peers: 0, peerTime: 0, duration: 0, connects: 0, disconnects: 0, crashes: 0 };

export class RoomSeries {
  readonly #now: () => number;
  readonly #living = new Map<string, LivingRoom>();
  /** End times of rooms by id, oldest first. */
  readonly #removed = new Map<string, number>();
  #crashed = 0;

  /** `now`: monotonic clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Events of local rooms, each once and in order. */
  take({ type, roomId, incarnation }: Pick<RoomEvent, 'type' | 'roomId' | 'incarnation'>): void {
    const now = this.#now();
    if (type === 'RoomCreated') {
      this.#removed.delete(roomId);
      this.#living.set(roomId, {
        incarnation,
        openedAt: now,
        peers: 0,
        peerTime: 0,
        countedAt: now,
        connects: 0,
        disconnects: 0,
        crashes: 0,
      });
      return;
    }
    const room = this.#living.get(roomId);
    if (room?.incarnation !== incarnation) return;
    if (type === 'PeerConnected') {
      count(room, now);
      room.peers += 1;
      room.connects += 1;
    } else if (type === 'PeerDisconnected') {
      count(room, now);
      room.peers -= 1;
      room.disconnects += 1;
    } else if (type === 'PeerCrashed') room.crashes += 1;
    else if (type === 'RoomDeleted' || type === 'RoomCrashed') {
      if (type === 'RoomCrashed') this.#crashed += 1;
      this.#living.delete(roomId);
      this.#removed.set(roomId, now);
      this.#prune(now);
    }
  }

  /** Stats of active rooms and, all zero, of rooms that ended less than ten minutes ago. */
  *read(): Iterable<[roomId: string, stats: RoomSeriesStats]> {
    const now = this.#now();
    this.#prune(now);
    for (const [roomId, room] of this.#living) {
      count(room, now);
      const { peers, peerTime, connects, disconnects, crashes } = room;
      yield [roomId, { peers, peerTime, duration: now - room.openedAt, connects, disconnects, crashes }];
    }
    for (const roomId of this.#removed.keys()) yield [roomId, nothing];
  }

  readings(): Readings<typeof nodeMetrics.roomSeries> {
    const rooms = [...this.read()];
    const byRoom = (value: (stats: RoomSeriesStats) => number) =>
      rooms.map(([roomId, stats]) => [{ room_id: roomId }, value(stats)] as const);
    return {
      crashed: this.#crashed,
      peers: byRoom(({ peers }) => peers),
      peerTime: byRoom(({ peerTime }) => peerTime / 1000),
      duration: byRoom(({ duration }) => duration / 1000),
      connects: byRoom(({ connects }) => connects),
      disconnects: byRoom(({ disconnects }) => disconnects),
      crashes: byRoom(({ crashes }) => crashes),
    };
  }

  #prune(now: number): void {
    for (const [roomId, at] of this.#removed) {
      if (this.#removed.size <= maxRemoved && now - at < removedLifetime) break;
      this.#removed.delete(roomId);
    }
  }
}

function count(room: LivingRoom, now: number): void {
  room.peerTime += room.peers * (now - room.countedAt);
  room.countedAt = now;
}

/** `events`: of local rooms. */
export function collectRoomSeries(metrics: MetricsRegistry, events: Pick<EventFeed, 'subscribe'>): void {
  const series = new RoomSeries();
  events.subscribe(({ event }) => series.take(event));
  metrics.collect(nodeMetrics.roomSeries, () => series.readings());
}
