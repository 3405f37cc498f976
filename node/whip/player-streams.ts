// Player streams: the fixed streams of one player, with the tracks of the room that they play now.
import type { PeerEvent } from '../../api/socket/peer-events.ts';
import type { FixedStream } from '../rooms/interfaces.ts';
import { audioAssignment, type PlayableTrack, type Speech, videoCandidates } from './played-tracks.ts';

/** `video`: `speaker` or the id of a peer. `speaker`: the active speaker. */
export type PlayerStreamsOptions = { video: string; speaker: string | null };
export type FixedStreams = { audio: readonly FixedStream[]; video: FixedStream | undefined };
type Streams = FixedStreams & {
  /** Tracks that the peer may receive. */
  tracks: () => Iterable<PlayableTrack>;
};

/** Events after which other tracks may be played. */
export const changes = new Set<PeerEvent['event']>(['trackAdded', 'trackRemoved', 'trackPaused', 'trackResumed', 'permissionsUpdated']);

export class PlayerStreams {
  readonly #video: string;
  #streams: Streams | undefined;
  #speech: Speech;

  constructor({ video, speaker }: PlayerStreamsOptions) {
    this.#video = video;
    this.#speech = { speaker, levels: [] };
  }

  /** Starts the streams. */
  open(streams: Streams): void {
    this.#streams = streams;
    this.update();
  }

  /** An event of the room, as peers get it. */
  notify({ event, data }: PeerEvent): void {
    if (event === 'activeSpeaker') this.#speech = { ...this.#speech, speaker: data.peerId };
    else if (event === 'audioLevels') this.#speech = { ...this.#speech, levels: data.levels };
    else if (!changes.has(event)) return;
    this.update();
  }

  /** Plays what the peer may receive now. */
  update(): void {
    if (!this.#streams) return;
    const { audio, video } = this.#streams;
    const tracks = [...this.#streams.tracks()];
    const speech = this.#speech;
    if (video) {
      const candidates = videoCandidates(tracks, { video: this.#video, speech, current: video.trackId });
      const supported = candidates.find(({ id }) => video.supports(id));
      const chosen = supported?.id;
      // One is enough: until it arrives, the player plays the next track.
      const awaited = candidates.slice(0, supported && candidates.indexOf(supported)).find(({ backup }) => backup?.published === false);
      awaited?.backup?.request();
      // A paused track stays, so that its last frame does, until there is another one.
      if (chosen !== undefined || !tracks.some(({ id }) => id === video.trackId)) video.show(chosen);
    }
    const current = audio.map(({ trackId }) => trackId);
    const assigned = audioAssignment(tracks, { speech, current });
    for (const [index, stream] of audio.entries()) stream.show(assigned[index]);
  }
}
