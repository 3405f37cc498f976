// In-memory state of one Room between reconciles. Nothing here must survive a restart.
import { roomCreationMs } from '../../api/operations/node-rpcs.ts';
import type { Stored } from '../kube/objects.ts';
import type { Room } from '../objects.ts';
import type { Secret } from './desired-components.ts';
import type { Observed, ObservedRoom, Rejection } from './observed.ts';

/** Shorter than the requeue interval of a Room with unmet parts. */
const refusalMs = 55_000;
/** Maximum lag of a reflector. */
const reflectedMs = 10_000;
/** Nodes execute an abandoned request within this time: theirs, and a margin for nodes without CPU time. */
export const createPendingMs = roomCreationMs + 2_000;

/** Rejections, each valid until it expires or its cache key `stamp` changes. Times are monotonic milliseconds. */
export class RejectionCache {
  readonly #refused = new Map<string, { rejection: Rejection; stamp: string; until: number }>();

  /** Adds the rejections that it does not contain yet. */
  add(rejections: ReadonlyMap<string, Rejection>, stamp: string, now: number): void {
    for (const [name, rejection] of rejections) {
      if (this.#refused.get(name)?.rejection === rejection) continue;
      this.#refused.set(name, { rejection, stamp, until: now + (rejection.retryAfterMs ?? refusalMs) });
    }
  }

  current(stamp: string, now: number): Map<string, Rejection> {
    for (const [name, refusal] of this.#refused) if (refusal.stamp !== stamp || refusal.until <= now) this.#refused.delete(name);
    return new Map([...this.#refused].map(([name, { rejection }]) => [name, rejection]));
  }
}

/** The peer Secret as written, until the reflector has received it. */
export class PendingSecretWrite {
  #written: { secret: Stored<Secret>; until: number; seen: boolean } | undefined;
  #deleted: string | undefined;
  #version: string | undefined;

  /** Of the last write. */
  get resourceVersion(): string | undefined {
    return this.#version;
  }

  /** The reflector has received that version: its content can be requested when it is needed. */
  reflected(resourceVersion: string): void {
    if (this.#version === resourceVersion) this.#written = undefined;
  }

  /** `now`: monotonic milliseconds. */
  set(secret: Stored<Secret>, now: number): void {
    this.#version = secret.metadata.resourceVersion;
    this.#written = { secret, until: now + reflectedMs, seen: false };
  }

  delete(uid: string): void {
    this.#written = undefined;
    this.#version = undefined;
    this.#deleted = uid;
  }

  /** The reflector reported the deletion. */
  deleted(uid: string): void {
    if (this.#written?.secret.metadata.uid === uid) this.delete(uid);
  }

  /** The Secret as currently stored, from the cache and the pending write. */
  current(cached: Stored<Secret> | undefined, now: number): Stored<Secret> | undefined {
    const written = this.#written;
    if (cached && cached.metadata.uid === this.#deleted) return undefined;
    if (!written) return cached;
    if (cached) {
      const same = cached.metadata.uid === written.secret.metadata.uid;
      written.seen ||= same;
      const newest = newerVersion(cached, written.secret);
      if (same && newest === cached) this.#written = undefined;
      return newest;
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
  componentCrashes: Observed['componentCrashes'] = new Map();
  readonly uid: string;

  /** `createPendingUntil`: for requests of the previous leader. */
  constructor(uid: string, createPendingUntil: number) {
    this.uid = uid;
    this.createPendingUntil = createPendingUntil;
  }

  /** The reflector has received this version, so that an older written one is no longer needed. */
  reflected(room: Stored<Room> | undefined): void {
    if (room && newerVersion(room, this.room) === room) this.room = undefined;
  }

  /** Keeps for later reconciles what an action added to the observation. */
  remember(before: Observed, after: Observed, stamp: string, now: number): void {
    this.components.add(after.refusedComponents, stamp, now);
    this.peers.add(after.refusedPeers, peersCacheKey(stamp, after.location), now);
    if (after.refusedConfig) this.config.add(new Map([['config', after.refusedConfig]]), stamp, now);
    this.componentCrashes = after.componentCrashes;
    this.skewMs = after.skewMs;
    if (after.createPendingMs !== before.createPendingMs) this.createPendingUntil = now + after.createPendingMs;
  }
}

/** Peers rejected by a full room are retried when the number of peers changes. */
export function peersCacheKey(stamp: string, observedRoom: ObservedRoom): string {
  return `${stamp}|${observedRoom.kind === 'present' ? observedRoom.room.peers.length : ''}`;
}

/** The later stored version; the written version may belong to an earlier object of the same name. */
export function newerVersion<T extends Stored>(cached: T | undefined, written: T | undefined): T | undefined {
  if (!cached || !written || cached.metadata.uid !== written.metadata.uid) return cached;
  return BigInt(written.metadata.resourceVersion) > BigInt(cached.metadata.resourceVersion) ? written : cached;
}
