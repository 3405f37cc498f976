// Tracks that a component goes on without: what broke its process once does not get at the next one.
import type { SubscribableTrack } from '../../rooms/interfaces.ts';

/** Breaks of the tracks of one peer after which all its tracks are dropped: it would only publish another. */
const maxBreaks = 2;

export type TrackLimits = Record<SubscribableTrack['kind'], number>;

export class DroppedTracks {
  readonly #limits: TrackLimits;
  readonly #dropped = new Set<string>();
  readonly #breaks = new Map<string, number>();

  /** `limits`: tracks of each kind that are received at once. */
  constructor(limits: TrackLimits) {
    this.#limits = limits;
  }

  /** It broke the process. */
  drop(track: SubscribableTrack): void {
    this.#dropped.add(track.id);
    const source = sourceOf(track);
    this.#breaks.set(source, (this.#breaks.get(source) ?? 0) + 1);
  }

  /** Those that may be received; `others` are too many. In their order. */
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

/** The newest tracks of those who have the most, as many as are beyond the limit. */
function greediest(tracks: readonly SubscribableTrack[], limit: number): SubscribableTrack[] {
  if (tracks.length <= limit) return [];
  const sources = [...Map.groupBy(tracks, sourceOf).values()];
  // Each source's first track comes before anybody's second.
  const fair = sources.flatMap((own) => own.map((track, turn) => ({ track, turn }))).sort((a, b) => a.turn - b.turn);
  return fair.slice(limit).map(({ track }) => track);
}

function sourceOf({ origin }: SubscribableTrack): string {
  return 'peerId' in origin ? `peer ${origin.peerId}` : `component ${origin.componentId}`;
}
