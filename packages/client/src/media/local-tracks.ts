// Local tracks: all published tracks of this client; republishes them in a new session.
import { type LocalTrack, type LocalTrackEnd, PublishedTrack, type PublishOptions } from './local-track.ts';
import type { MediaSession } from './media-session.ts';
import { isThinUplink } from './thin-uplink.ts';
import type { Request } from './transport-requests.ts';

export type LocalTracksOptions = {
  request: Request;
  ended: (track: LocalTrack, reason: LocalTrackEnd) => void;
  /** The server muted or unmuted a track, possibly while it was republished. */
  muted: (track: LocalTrack, muted: boolean) => void;
};

/** The last server decision about a track whose id is not known here yet. */
type Word = 'muted' | 'unmuted' | 'removed';
const maxWords = 1000;

export class LocalTracks {
  readonly #options: LocalTracksOptions;
  readonly #tracks = new Set<PublishedTrack>();
  /** By track id; kept while a publish response is pending. */
  readonly #words = new Map<string, Word>();
  readonly #publishing = new Set<Promise<void>>();
  /** True while this peer moves: new tracks are published after it. */
  #held = false;
  #session: MediaSession | undefined;

  constructor(options: LocalTracksOptions) {
    this.#options = options;
  }

  get all(): readonly LocalTrack[] {
    return [...this.#tracks];
  }

  /** Resolves when the track is published, even if that takes several connections. */
  async publish(mediaStreamTrack: MediaStreamTrack, options: PublishOptions): Promise<LocalTrack> {
    const track: PublishedTrack = new PublishedTrack(mediaStreamTrack, options, {
      request: this.#options.request,
      unpublished: () => this.#tracks.delete(track),
      renewed: (_, muted) => this.#renewed(track, muted),
      ended: (_, reason) => {
        this.#tracks.delete(track);
        this.#options.ended(track, reason);
      },
    });
    this.#tracks.add(track);
    if (this.#session && !this.#held) void this.#publishOver(this.#session, track);
    await track.published;
    return track;
  }

  /** A new session is ready to send. */
  sessionStarted(session: MediaSession): void {
    this.#session = session;
    for (const track of this.#tracks) void this.#publishOver(session, track);
  }

  /** Publishes the tracks over a second path too. @throws Error if the server rejects one */
  async publishToo(next: MediaSession): Promise<void> {
    this.#held = true;
    await Promise.allSettled(this.#publishing);
    const before = this.#session;
    const hasVideo = this.all.some(({ kind }) => kind === 'video');
    const thin = hasVideo && (await isThinUplink(async () => (await before?.stats())?.send));
    await Promise.all([...this.#tracks].map((track) => track.publishToo(next, thin)));
  }

  /** Over a thin uplink: `begin` sends video over the second path instead of the first one, `end` with all layers. */
  async changePath(step: 'begin' | 'end'): Promise<void> {
    await Promise.all([...this.#tracks].map((track) => track.changePath(step)));
  }

  /** The second path is the one to use, or is closed if it is undefined. */
  moved(next: MediaSession | undefined): void {
    this.#held = false;
    if (next) this.#session = next;
    const session = this.#session;
    for (const track of this.#tracks) if (!track.moved(next) && session) void this.#publishOver(session, track);
  }

  sessionLost(): void {
    this.#held = false;
    this.#session = undefined;
    for (const track of this.#tracks) track.unbind();
  }

  /** The server removed a track. @returns true if it is a local track */
  removed(trackId: string): boolean {
    const track = this.#find(trackId);
    if (!track) return this.#keep(trackId, 'removed');
    this.#tracks.delete(track);
    track.end(new Error('The server removed the track'));
    this.#options.ended(track, 'removed');
    return true;
  }

  /** The server muted or unmuted a track. @returns true if it is a local track */
  muted(trackId: string, muted: boolean): boolean {
    const track = this.#find(trackId);
    if (!track) return this.#keep(trackId, muted ? 'muted' : 'unmuted');
    this.#setMuted(track, muted);
    return true;
  }

  /** Receivers need the encodings of a track up to this one; null: none. */
  async sendLayers(trackId: string, top: number | null): Promise<void> {
    await this.#find(trackId)?.sendLayers(top);
  }

  /** Ends all tracks and rejects pending publications. */
  close(why: Error): void {
    this.#session = undefined;
    for (const track of this.#tracks) track.end(why);
    this.#tracks.clear();
  }

  async #publishOver(session: MediaSession, track: PublishedTrack): Promise<void> {
    const publishing = track.publishOver(session);
    this.#publishing.add(publishing);
    try {
      await publishing;
    } finally {
      this.#publishing.delete(publishing);
      if (this.#publishing.size === 0) this.#words.clear();
    }
  }

  /** The decision may concern a track that is being published, or a track of another peer. */
  #keep(trackId: string, word: Word): false {
    if (this.#publishing.size > 0 && this.#words.size < maxWords) this.#words.set(trackId, word);
    return false;
  }

  #renewed(track: PublishedTrack, muted: boolean): void {
    const word = this.#words.get(track.id);
    if (word === 'removed') this.removed(track.id);
    else this.#setMuted(track, word === undefined ? muted : word === 'muted');
  }

  #setMuted(track: PublishedTrack, muted: boolean): void {
    if (track.muted === muted) return;
    track.muted = muted;
    this.#options.muted(track, muted);
  }

  #find(trackId: string): PublishedTrack | undefined {
    return [...this.#tracks].find((track) => track.id === trackId && trackId !== '');
  }
}
