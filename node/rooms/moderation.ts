// What the server decided about the tracks of one peer: it holds where they are published again, as long as the peer is in its room.
import { ServiceError } from '../common/errors.ts';
import type { Kind, Metadata } from './shapes/views.ts';
import type { Track } from './track.ts';

/** A track as its publisher names it: `key` where it says that two are the same, `metadata.source` (camera, screen) where it does not. */
export type TrackRef = { key: string | null; kind: Kind; metadata: Metadata | null };
type Ended = { trackId: string; kind: Kind; source: string | null; muted: boolean; removed: boolean };

/** Ended tracks that are remembered of a peer; those of which nothing was decided are forgotten first. */
const maxEnded = 200;
const maxSource = 64;

/** Lives as long as its peer, whose sessions and tracks come and go. */
export class Moderation {
  /** By key, else by id; the oldest first. */
  readonly #ended = new Map<string, Ended>();

  /** A track ended; `removed`: the server took it away. */
  ended({ id, key, kind, metadata, muted }: Track, removed: boolean): void {
    // Without a key nobody can name it again.
    if (key === null && !muted) return;
    const name = key ?? id;
    this.#ended.delete(name);
    this.#ended.set(name, { trackId: id, kind, source: sourceOf(metadata), muted, removed });
    if (this.#ended.size > maxEnded) this.#forgetOne();
  }

  /** Whether a track that is about to be published is muted from its start. @throws ServiceError `track_not_found` where the server took it away */
  mutes(track: TrackRef): boolean {
    return this.#find(track)?.[1].muted ?? false;
  }

  /** As mutes(): from here the track itself has what was decided. @throws ServiceError `track_not_found` */
  take(track: TrackRef): boolean {
    const found = this.#find(track);
    if (!found) return false;
    const [name, decided] = found;
    const { muted } = decided;
    // Another track inherits the mute alone: a removal stays with the track that was taken away.
    if (decided.removed) decided.muted = false;
    else this.#ended.delete(name);
    return muted;
  }

  /** Ends the mute of a track that is not published now. @returns whether it was muted. */
  lift(trackId: string): boolean {
    for (const decided of this.#ended.values()) {
      if (decided.trackId !== trackId || !decided.muted) continue;
      decided.muted = false;
      return true;
    }
    return false;
  }

  /** That very track; where it is none that is known here, one that ended muted and is of the same kind and source. */
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
