// Suspects: rooms whose media workers died repeatedly, so that the room may be the cause.
import { isSuspicious } from './worker-death.ts';

/** Time window of counted deaths, in milliseconds. */
export const suspicionWindow = 10 * 60_000;
/** Number of deaths that make a room a suspect. */
const suspiciousDeaths = 2;
/** Maximum number of tracked rooms; the one that crashed longest ago is dropped first. */
const maxRooms = 10_000;

/** Tracked by id, so that a recreated room is recognized. In memory only: a restarted node starts with no suspects. */
export class Suspects {
  /** Times of the last deaths in milliseconds, oldest first. */
  readonly #deaths = new Map<string, number[]>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** A room of this node or another node crashed. `reason`: as in `RoomCrashed`. */
  note(roomId: string, reason: string): void {
    if (!isSuspicious(reason)) return;
    const deaths = [...(this.#deaths.get(roomId) ?? []), this.#now()].slice(-suspiciousDeaths);
    this.#deaths.delete(roomId);
    this.#deaths.set(roomId, deaths);
    for (const [oldest, times] of this.#deaths) {
      const counts = (times.at(-1) ?? 0) + suspicionWindow > this.#now();
      if (counts && this.#deaths.size <= maxRooms) break;
      this.#deaths.delete(oldest);
    }
  }

  has(roomId: string): boolean {
    return this.#suspectedFor(this.#deaths.get(roomId)) > 0;
  }

  /** Number of suspects, and the milliseconds until the last of them expires. */
  view(): { count: number; over: number } {
    const left = [...this.#deaths.values()].map((deaths) => this.#suspectedFor(deaths)).filter((time) => time > 0);
    return { count: left.length, over: left.reduce((most, time) => Math.max(most, time), 0) };
  }

  /** Remaining milliseconds; 0 if the room is no suspect. */
  #suspectedFor(deaths: readonly number[] | undefined): number {
    const [oldest] = deaths ?? [];
    if (oldest === undefined || deaths?.length !== suspiciousDeaths) return 0;
    return Math.max(oldest + suspicionWindow - this.#now(), 0);
  }
}
