// What the controller remembers of one Room between two looks; all of it may be forgotten with the process.
import type { Stored } from '../kube/objects.ts';
import type { Room } from '../objects.ts';
import type { Secret } from './desired-components.ts';
import type { ConditionReason } from './observed.ts';

/** Shorter than the pause before a Room that lacks something is looked at again. */
const refusalMs = 55_000;
/** Longest that a reflector may be behind. */
const reflectedMs = 10_000;
/** A node carries out a request that nobody waits for any more within this: more than twice the deadline of the one who asked. */
export const createPendingMs = 10_000;
const crashWindowMs = 10 * 60_000;
const maxCrashes = 3;

type Refusal = ConditionReason & { stamp: string; until: number };

/** What was refused, each until it expires or `stamp` (what it depends on) is another. Times are monotonic milliseconds. */
export class RejectionCache {
  readonly #refused = new Map<string, Refusal>();

  set(name: string, conditionReason: ConditionReason, stamp: string, now: number, ms: number = refusalMs): void {
    this.#refused.set(name, { ...conditionReason, stamp, until: now + ms });
  }

  delete(name: string): void {
    this.#refused.delete(name);
  }

  current(stamp: string, now: number): Map<string, ConditionReason> {
    for (const [name, refusal] of this.#refused) if (refusal.stamp !== stamp || refusal.until <= now) this.#refused.delete(name);
    return new Map([...this.#refused].map(([name, { reason, message }]) => [name, { reason, message }]));
  }
}

/** The Secret of the peers: as it was written, until the reflector has it. */
export class PendingSecretWrite {
  #written: { secret: Stored<Secret>; until: number; seen: boolean } | undefined;
  #deleted: string | undefined;

  get resourceVersion(): string | undefined {
    return this.#written?.secret.metadata.resourceVersion;
  }

  /** `now`: monotonic milliseconds. */
  set(secret: Stored<Secret>, now: number): void {
    this.#written = { secret, until: now + reflectedMs, seen: false };
  }

  delete(uid: string): void {
    this.#written = undefined;
    this.#deleted = uid;
  }

  /** The reflector says that somebody deleted it. */
  gone(uid: string): void {
    if (this.#written?.secret.metadata.uid === uid) this.#written = undefined;
  }

  /** As it is stored, by all that is known. */
  current(cached: Stored<Secret> | undefined, now: number): Stored<Secret> | undefined {
    const written = this.#written;
    if (cached && cached.metadata.uid === this.#deleted) return undefined;
    if (!written) return cached;
    if (cached) {
      written.seen ||= cached.metadata.uid === written.secret.metadata.uid;
      return newerVersion(cached, written.secret);
    }
    // It is on its way to the reflector, or somebody deleted it.
    return !written.seen && now < written.until ? written.secret : undefined;
  }
}

export class RoomCache {
  /** As it was written last: the copies of the reflectors come later. */
  room: Stored<Room> | undefined;
  readonly secret = new PendingSecretWrite();
  /** Of the room at the last look that left nothing to do. */
  digest: string | undefined;
  countsAt = Number.NEGATIVE_INFINITY;
  deletingSince: number | undefined;
  /** Until then a request without an answer may make the room, in monotonic milliseconds. */
  createPendingUntil: number;
  waitingSince: number | undefined;
  skewMs: number | undefined;
  readonly components = new RejectionCache();
  readonly peers = new RejectionCache();
  readonly config = new RejectionCache();
  readonly uid: string;
  readonly #crashes = new Map<string, number[]>();

  /** `createPendingUntil`: for the requests of an operator that worked on the Room before. */
  constructor(uid: string, createPendingUntil: number) {
    this.uid = uid;
    this.createPendingUntil = createPendingUntil;
  }

  /** Counts a crash of the component of that name. @returns whether it may be added again now */
  componentCrashed(name: string, now: number): boolean {
    const recent = (this.#crashes.get(name) ?? []).filter((at) => now - at < crashWindowMs);
    this.#crashes.set(name, [...recent, now].slice(-maxCrashes));
    return recent.length + 1 < maxCrashes;
  }
}

/** The one that was stored later; what was written may be of an earlier object of the same name. */
export function newerVersion<T extends Stored>(cached: T | undefined, written: T | undefined): T | undefined {
  if (!cached || !written || cached.metadata.uid !== written.metadata.uid) return cached;
  return BigInt(written.metadata.resourceVersion) > BigInt(cached.metadata.resourceVersion) ? written : cached;
}
