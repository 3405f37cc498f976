// Moderation: mutes and removals by the server. They also apply to republished tracks while the peer is in its room.
import { ServiceError } from '../../../api/errors.ts';
import type { Metadata } from '../../../api/json.ts';
import type { Kind } from '../../../api/track.ts';
import type { Track } from '../track.ts';

/** A track as named by its publisher: identified by `key` if set, otherwise matched by `metadata.source` (camera, screen). */
export type TrackRef = { key: string | null; kind: Kind; metadata: Metadata | null };
type Ended = { trackId: string; kind: Kind; source: string | null; muted: boolean; removed: boolean };

/** Maximum number of ended tracks kept per peer; tracks without a decision are dropped first. */
const maxEnded = 200;
const maxSource = 64;

/** Lives as long as its peer, across sessions and tracks. */
export class Moderation {
  /** By key, else by id; the oldest first. */
  readonly #ended = new Map<string, Ended>();

  /** A track ended; `removed`: the server removed it. */
  ended({ id, key, kind, metadata, muted }: Track, removed: boolean): void {
    // Without a key the track cannot be published again.
    if (key === null && !muted) return;
    const name = key ?? id;
    this.#ended.delete(name);
    this.#ended.set(name, { trackId: id, kind, source: sourceOf(metadata), muted, removed });
    if (this.#ended.size > maxEnded) this.#forgetOne();
  }

  /** True if a track must be muted when it is published. @throws ServiceError `track_not_found` if the server removed it */
  mutes(track: TrackRef): boolean {
    return this.#find(track)?.[1].muted ?? false;
  }

  /** Like mutes(), and hands the decision over to the published track. @throws ServiceError `track_not_found` */
  take(track: TrackRef): boolean {
    const found = this.#find(track);
    if (!found) return false;
    const [name, decided] = found;
    const { muted } = decided;
    // A different track inherits only the mute; a removal stays with the removed track.
    if (decided.removed) decided.muted = false;
    else this.#ended.delete(name);
    return muted;
  }

  /** Ends the mute of an unpublished track. @returns true if it was muted */
  lift(trackId: string): boolean {
    for (const decided of this.#ended.values()) {
      if (decided.trackId !== trackId || !decided.muted) continue;
      decided.muted = false;
      return true;
    }
    return false;
  }

  /** The same track by key; if unknown, an ended muted track of the same kind and source. */
  #find({ key, kind, metadata }: TrackRef): [name: string, decided: Ended] | undefined {
    const known = key === null ? undefined : this.#ended.get(key);
    if (known?.removed) throw new ServiceError('track_not_found', `Track ${known.trackId} was removed by the server`);
    if (key !== null && known) return [key, known];
    const source = sourceOf(metadata);
    return [...this.#ended].find(([, decided]) => decided.muted && decided.kind === kind && decided.source === source);
  }

  #forgetOne(): void {
    const all = [...this.#ended];
    const forgotten = all.find(([, { muted, removed }]) => !muted && !removed) ?? all[0];
    if (forgotten) this.#ended.delete(forgotten[0]);
  }
}

function sourceOf(metadata: Metadata | null): string | null {
  const source = typeof metadata === 'object' && metadata !== null && 'source' in metadata ? metadata.source : undefined;
  return typeof source === 'string' && source.length <= maxSource ? source : null;
}
