// Rooms whose media worker died again and again: what it dies of may come from them.
import { isSuspicious } from './worker-death.ts';

/** Deaths within so many milliseconds count. */
export const suspicionWindow = 10 * 60_000;
/** As many make a room a suspect. */
const suspiciousDeaths = 2;
/** Rooms that are remembered, while their last death counts; the one that crashed longest ago is forgotten first. */
const maxRooms = 10_000;

/** Known by id, so that a room which is made again is the same one. Kept in memory: whoever starts later knows nothing of it. */
export class Suspects {
  /** When their workers died last, in milliseconds, the oldest first. */
  readonly #deaths = new Map<string, number[]>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** A room crashed, of this node or of another one. `reason`: as in `RoomCrashed`. */
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

  /** How many there are, and the milliseconds until there are none any more. */
  view(): { count: number; over: number } {
    const left = [...this.#deaths.values()].map((deaths) => this.#suspectedFor(deaths)).filter((time) => time > 0);
    return { count: left.length, over: left.reduce((most, time) => Math.max(most, time), 0) };
  }

  /** Milliseconds; 0: it is none. */
  #suspectedFor(deaths: readonly number[] | undefined): number {
    const [oldest] = deaths ?? [];
    if (oldest === undefined || deaths?.length !== suspiciousDeaths) return 0;
    return Math.max(oldest + suspicionWindow - this.#now(), 0);
  }
}
