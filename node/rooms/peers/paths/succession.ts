// Succession: tracks that a moving peer publishes over its new path too, before what it publishes over the former one ends.
import { ServiceError } from '../../../../api/errors.ts';
import type { RoomChange } from '../../changes/room-change.ts';
import type { PeerMedia } from '../../interfaces.ts';
import type { Track } from '../../track.ts';
import type { PublishRequest } from '../publish-request.ts';

export type SuccessionOptions = {
  tracks: () => Iterable<Track>;
  announce: (change: RoomChange) => void;
  /** The publisher begins to send a track again, with all layers. */
  begins: (track: Track) => void;
  /** The publisher only sends what it sent before. */
  returns: (track: Track) => void;
};

export class Succession {
  readonly #options: SuccessionOptions;
  readonly #tracks = new Set<Track>();

  constructor(options: SuccessionOptions) {
    this.#options = options;
  }

  /** Publishes a track over the second path. It keeps its id, its mute and its receivers. @throws ServiceError `track_not_found` */
  async add(request: PublishRequest, media: PeerMedia): Promise<{ trackId: string; muted: boolean }> {
    const track = this.#expected(request);
    const { id: trackId, kind, generation } = track;
    const { transportId, rtpParameters } = request;
    const silent = track.silent || request.paused;
    this.#options.begins(track);
    await media.publish({ transportId, trackId, kind, rtpParameters, paused: silent, generation: generation + 1 });
    if (!this.#exists(track)) {
      media.unpublish(trackId);
      throw new ServiceError('track_not_found', `Track ${trackId} does not exist`);
    }
    track.succeed();
    this.#tracks.add(track);
    this.#options.announce({ kind: 'trackSucceeded', track });
    if (track.silent !== silent) await media.setPaused(trackId, track.silent);
    return { trackId, muted: track.muted };
  }

  /** True if a track is published over both paths. */
  has(track: Track): boolean {
    return this.#tracks.has(track);
  }

  /** Number of tracks that are published over both paths. */
  get size(): number {
    return this.#tracks.size;
  }

  /** The track ended. */
  forget(track: Track): void {
    this.#tracks.delete(track);
  }

  /** The former path is not used any more; `close` ends it. Receivers that do not have a successor yet subscribe again. */
  finish(close: () => void): void {
    const tracks = this.#take();
    for (const track of tracks) {
      track.interrupt();
      this.#options.announce({ kind: 'trackInterrupted', track });
    }
    close();
    // Components receive a track again only if they were without it.
    setImmediate(() => this.#resume(tracks));
  }

  /** The second path ended: receivers subscribe to the tracks of the former one again. */
  cancel(): void {
    const tracks = this.#take();
    for (const track of tracks) {
      this.#options.returns(track);
      track.succeed();
    }
    this.#resume(tracks);
  }

  #take(): Track[] {
    const tracks = [...this.#tracks];
    this.#tracks.clear();
    return tracks;
  }

  #resume(tracks: readonly Track[]): void {
    for (const track of tracks) {
      if (!this.#exists(track)) continue;
      track.resume();
      this.#options.announce({ kind: 'trackRestored', track });
    }
  }

  #exists(track: Track): boolean {
    return [...this.#options.tracks()].includes(track);
  }

  #expected({ kind, key, rtpParameters: { encodings } }: PublishRequest): Track {
    const track = [...this.#options.tracks()].find((each) => each.kind === kind && each.key === key && !each.interrupted);
    if (!track || this.#tracks.has(track))
      throw new ServiceError('track_not_found', 'Over a new path a peer publishes each of its tracks once, with its key');
    // It was permitted this number.
    if (Array.isArray(encodings) && encodings.length > track.layers)
      throw new ServiceError('forbidden', `Track ${track.id} has ${track.layers} encodings`);
    return track;
  }
}
