// Played tracks: which tracks of a room the streams of a player get. Pure decisions.
import type { AudioLevel } from '../../api/socket/peer-events.ts';
import type { Track, TrackOrigin } from '../rooms/track.ts';

export type PlayableTrack = Pick<Track, 'id' | 'origin' | 'kind' | 'silent'> & Partial<Pick<Track, 'backup'>>;
/** What is said in the room: the active speaker, and the loudest peers first. */
export type Speech = { speaker: string | null; levels: readonly AudioLevel[] };

/**
 * Video tracks to play, the preferred first. `video`: `speaker` or the id of a peer; `current`: the track that is played.
 * The speaker keeps the stream until another peer with video speaks. Of a peer the latest track is played, for example its screen.
 */
export function videoCandidates<Playable extends PlayableTrack>(
  tracks: readonly Playable[],
  { video, speech, current }: { video: string; speech: Speech; current: string | undefined },
): Playable[] {
  const videos = tracks.filter(({ kind, silent }) => kind === 'video' && !silent).reverse();
  if (video !== 'speaker') return videos.filter(({ origin }) => peerOf(origin) === video);
  const before = tracks.find(({ id }) => id === current);
  const rank = ({ origin }: Playable): number => {
    if (speech.speaker !== null && peerOf(origin) === speech.speaker) return 0;
    if (before && sameOrigin(origin, before.origin)) return 1;
    return 'peerId' in origin ? 2 : 3;
  };
  return videos.sort((a, b) => rank(a) - rank(b));
}

/**
 * Audio tracks for a number of streams, in each the track that it plays, if that stays. Peers that are audible precede components, which
 * are always audible, and both precede silent peers.
 */
export function audioAssignment<Playable extends PlayableTrack>(
  tracks: readonly Playable[],
  { speech: { speaker, levels }, current }: { speech: Speech; current: readonly (string | undefined)[] },
): (string | undefined)[] {
  const loudness = new Map(levels.map(({ peerId }, index) => [peerId, index + 1]));
  const rank = ({ id, origin }: Playable): number => {
    const peerId = peerOf(origin);
    if (peerId !== undefined && peerId === speaker) return 0;
    const loud = peerId === undefined ? undefined : loudness.get(peerId);
    if (loud !== undefined) return loud;
    const shown = current.includes(id) ? 0 : 1;
    return 1_000 + (peerId === undefined ? 0 : 2) + shown;
  };
  const audible = tracks.filter(({ kind, silent }) => kind === 'audio' && !silent);
  const chosen = audible.sort((a, b) => rank(a) - rank(b)).slice(0, current.length);
  const staying = current.map((id) => (chosen.some((track) => track.id === id) ? id : undefined));
  const added = chosen.filter(({ id }) => !current.includes(id)).map(({ id }) => id);
  return staying.map((id) => id ?? added.shift());
}

function peerOf(origin: TrackOrigin): string | undefined {
  return 'peerId' in origin ? origin.peerId : undefined;
}

function sameOrigin(a: TrackOrigin, b: TrackOrigin): boolean {
  return 'peerId' in a ? 'peerId' in b && a.peerId === b.peerId : 'componentId' in b && a.componentId === b.componentId;
}
