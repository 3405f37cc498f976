// All tracks that this client publishes: published again, without anybody asking, when a new session took the place of the old.
import { type LocalTrack, type LocalTrackEnd, PublishedTrack, type PublishOptions } from './local-track.ts';
import type { MediaSession, Request } from './media-session.ts';

export type LocalTracksOptions = {
  request: Request;
  ended: (track: LocalTrack, reason: LocalTrackEnd) => void;
};

export class LocalTracks {
  readonly #options: LocalTracksOptions;
  readonly #tracks = new Set<PublishedTrack>();
  #session: MediaSession | undefined;

  constructor(options: LocalTracksOptions) {
    this.#options = options;
  }

  get all(): readonly LocalTrack[] {
    return [...this.#tracks];
  }

  /** Resolves when the track is published, however many connections that takes. */
  async publish(mediaStreamTrack: MediaStreamTrack, options: PublishOptions): Promise<LocalTrack> {
    const track: PublishedTrack = new PublishedTrack(mediaStreamTrack, options, {
      request: this.#options.request,
      unpublished: () => this.#tracks.delete(track),
      ended: (_, reason) => {
        this.#tracks.delete(track);
        this.#options.ended(track, reason);
      },
    });
    this.#tracks.add(track);
    if (this.#session) void track.publishOver(this.#session);
    await track.published;
    return track;
  }

  /** A fresh session can send. */
  sessionStarted(session: MediaSession): void {
    this.#session = session;
    for (const track of this.#tracks) void track.publishOver(session);
  }

  sessionLost(): void {
    this.#session = undefined;
    for (const track of this.#tracks) track.unbind();
  }

  /** The server removed the track. @returns whether it was one of ours. */
  removed(trackId: string): boolean {
    const track = this.#find(trackId);
    if (!track) return false;
    this.#tracks.delete(track);
    track.end(new Error('The server removed the track'));
    this.#options.ended(track, 'removed');
    return true;
  }

  /** The server muted or unmuted a track. @returns it where it is one of ours. */
  muted(trackId: string, muted: boolean): LocalTrack | undefined {
    const track = this.#find(trackId);
    track?.setMuted(muted);
    return track;
  }

  /** Ends all, and the waiting for those that never were published. */
  close(why: Error): void {
    this.#session = undefined;
    for (const track of this.#tracks) track.end(why);
    this.#tracks.clear();
  }

  #find(trackId: string): PublishedTrack | undefined {
    return [...this.#tracks].find((track) => track.id === trackId && trackId !== '');
  }
}
