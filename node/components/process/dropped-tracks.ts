// Dropped tracks: excludes tracks that crashed the process of a component from the next process.
import type { SubscribableTrack } from '../../rooms/interfaces.ts';

/** Crashes by tracks of one peer after which all its tracks are dropped, because it could publish more. */
const maxBreaks = 2;

export type TrackLimits = Record<SubscribableTrack['kind'], number>;

export class DroppedTracks {
  readonly #limits: TrackLimits;
  readonly #dropped = new Set<string>();
  readonly #breaks = new Map<string, number>();

  /** `limits`: maximum of tracks of each media kind. */
  constructor(limits: TrackLimits) {
    this.#limits = limits;
  }

  /** The track crashed the process. */
  drop(track: SubscribableTrack): void {
    this.#dropped.add(track.id);
    const source = sourceOf(track);
    this.#breaks.set(source, (this.#breaks.get(source) ?? 0) + 1);
  }

  /** Selects tracks within the limits, in their order; `others` exceed them. */
  choose(tracks: readonly SubscribableTrack[]): { taken: SubscribableTrack[]; others: SubscribableTrack[] } {
    const allowed = tracks.filter((track) => !this.#dropped.has(track.id) && (this.#breaks.get(sourceOf(track)) ?? 0) < maxBreaks);
    const others = new Set([
      ...greediest(
        allowed.filter(({ kind }) => kind === 'audio'),
        this.#limits.audio,
      ),
      ...greediest(
        allowed.filter(({ kind }) => kind === 'video'),
        this.#limits.video,
      ),
    ]);
    return { taken: allowed.filter((track) => !others.has(track)), others: [...others] };
  }
}

/** The newest tracks of the sources with the most tracks, as many as exceed the limit. */
function greediest(tracks: readonly SubscribableTrack[], limit: number): SubscribableTrack[] {
  if (tracks.length <= limit) return [];
  const sources = [...Map.groupBy(tracks, sourceOf).values()];
  // The first track of every source precedes any second track.
  const fair = sources.flatMap((own) => own.map((track, turn) => ({ track, turn }))).sort((a, b) => a.turn - b.turn);
  return fair.slice(limit).map(({ track }) => track);
}

function sourceOf({ origin }: SubscribableTrack): string {
  return 'peerId' in origin ? `peer ${origin.peerId}` : `component ${origin.componentId}`;
}
