// In-memory state of one Room between reconciles. Nothing here must survive a restart.
import type { Stored } from '../kube/objects.ts';
import type { Room } from '../objects.ts';
import type { Secret } from './desired-components.ts';
import type { ConditionReason } from './observed.ts';

/** Shorter than the requeue interval of a Room with unmet parts. */
const refusalMs = 55_000;
/** Maximum lag of a reflector. */
const reflectedMs = 10_000;
/** A node executes an abandoned request within this time: more than twice the timeout of the client. */
export const createPendingMs = 10_000;
const crashWindowMs = 10 * 60_000;
const maxCrashes = 3;

type Refusal = ConditionReason & { stamp: string; until: number };

/** Rejections, each valid until it expires or its cache key `stamp` changes. Times are monotonic milliseconds. */
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

/** The peer Secret as written, until the reflector has received it. */
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

  /** The reflector reported the deletion. */
  gone(uid: string): void {
    if (this.#written?.secret.metadata.uid === uid) this.#written = undefined;
  }

  /** The Secret as currently stored, from the cache and the pending write. */
  current(cached: Stored<Secret> | undefined, now: number): Stored<Secret> | undefined {
    const written = this.#written;
    if (cached && cached.metadata.uid === this.#deleted) return undefined;
    if (!written) return cached;
    if (cached) {
      written.seen ||= cached.metadata.uid === written.secret.metadata.uid;
      return newerVersion(cached, written.secret);
    }
    // The write has not reached the reflector yet, or the Secret was deleted.
    return !written.seen && now < written.until ? written.secret : undefined;
  }
}

export class RoomCache {
  /** The Room as written last; the reflector cache lags. */
  room: Stored<Room> | undefined;
  readonly secret = new PendingSecretWrite();
  /** Digest of the room after the last reconcile without pending actions. */
  digest: string | undefined;
  countsAt = Number.NEGATIVE_INFINITY;
  deletingSince: number | undefined;
  /** Until then a create request without a response may take effect, in monotonic milliseconds. */
  createPendingUntil: number;
  waitingSince: number | undefined;
  skewMs: number | undefined;
  readonly components = new RejectionCache();
  readonly peers = new RejectionCache();
  readonly config = new RejectionCache();
  readonly uid: string;
  readonly #crashes = new Map<string, number[]>();

  /** `createPendingUntil`: for requests of an earlier operator process. */
  constructor(uid: string, createPendingUntil: number) {
    this.uid = uid;
    this.createPendingUntil = createPendingUntil;
  }

  /** Counts a crash of the component of that name. @returns whether it may be recreated now */
  componentCrashed(name: string, now: number): boolean {
    const recent = (this.#crashes.get(name) ?? []).filter((at) => now - at < crashWindowMs);
    this.#crashes.set(name, [...recent, now].slice(-maxCrashes));
    return recent.length + 1 < maxCrashes;
  }
}

/** The later stored version; the written version may belong to an earlier object of the same name. */
export function newerVersion<T extends Stored>(cached: T | undefined, written: T | undefined): T | undefined {
  if (!cached || !written || cached.metadata.uid !== written.metadata.uid) return cached;
  return BigInt(written.metadata.resourceVersion) > BigInt(cached.metadata.resourceVersion) ? written : cached;
}
