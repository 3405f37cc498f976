// Media paths of a connected peer: one, or two while it moves to another media worker.
import { ServiceError } from '../../../api/errors.ts';
import type { Direction, PeerMedia, PeerMediaListener, RoomMedia, WireObject } from '../interfaces.ts';
import { Move } from './move.ts';
import type { Subscriptions } from './subscriptions.ts';

export type MediaPathsOptions = {
  peerId: string;
  room: RoomMedia;
  /** Of the media of both paths, without what concerns one of them. */
  listener: Omit<PeerMediaListener, 'failed' | 'lost'>;
  subscriptions: (media: PeerMedia) => Subscriptions;
  /** True while the peer publishes something. */
  publishes: () => boolean;
  /** The only path failed permanently. */
  failed: (reason: string) => void;
  /** The only path was lost. */
  lost: () => void;
  migrate: (path: string) => void;
  /** The second path is closed; the first one stays. */
  pathClosed: (path: string) => void;
};

export class MediaPaths {
  /** True if the client can have two paths. */
  supported = false;
  readonly #options: MediaPathsOptions;
  #media: PeerMedia;
  #subscriptions: Subscriptions;
  #move: Move | undefined;

  constructor(options: MediaPathsOptions) {
    this.#options = options;
    this.#media = this.#open((listener) => options.room.openPeer(options.peerId, listener));
    this.#subscriptions = options.subscriptions(this.#media);
  }

  get media(): PeerMedia {
    return this.#media;
  }

  get subscriptions(): Subscriptions {
    return this.#subscriptions;
  }

  /**
   * Moves the peer to another media worker. Resolves when its client has changed to it.
   * @throws ServiceError `conflict` if the client or the room does not support it, or the client does not complete it
   */
  async move(worker: number | undefined): Promise<void> {
    const { peerId, room, publishes, migrate, pathClosed } = this.#options;
    if (!this.supported) throw new ServiceError('conflict', `The client of peer ${peerId} cannot move`);
    if (this.#move) throw new ServiceError('conflict', `Peer ${peerId} is being moved already`);
    if (publishes()) throw new ServiceError('conflict', `Peer ${peerId} publishes tracks, so it cannot be moved`);
    const media = this.#open((listener) => room.openPath(peerId, listener, { from: this.#media, worker }));
    const { next, promote } = this.#subscriptions.over(media);
    const move = new Move({
      ...{ media, subscriptions: next, promote },
      cancelled: () => {
        this.#move = undefined;
        pathClosed(move.path);
      },
    });
    this.#move = move;
    migrate(move.path);
    await move.completed;
  }

  /** The client uses the second path only. @throws ServiceError `not_found`, `conflict` if the peer publishes something */
  use(path: string): void {
    const move = this.#find(path);
    if (this.#options.publishes()) {
      move.cancel('It published a track meanwhile');
      throw new ServiceError('conflict', 'A peer that publishes tracks cannot be moved');
    }
    const [media, subscriptions] = [this.#media, this.#subscriptions];
    this.#media = move.media;
    this.#subscriptions = move.subscriptions;
    this.#move = undefined;
    subscriptions.close();
    media.close();
    move.complete();
    // The response must be sent before events of the path.
    setImmediate(move.promote);
  }

  /** The media that has the transport. */
  mediaOf(transportId: string): PeerMedia {
    return this.#move?.has(transportId) ? this.#move.media : this.#media;
  }

  /** `path`: the second one, if the transport belongs to it. @throws ServiceError `not_found` */
  async createTransport(direction: Direction, { sctp, path }: { sctp: boolean; path?: string | undefined }): Promise<WireObject> {
    const move = path === undefined ? undefined : this.#find(path);
    const transport = await (move ?? this.#media).createTransport(direction, { sctp });
    if (direction === 'recv') {
      const subscriptions = move?.subscriptions ?? this.#subscriptions;
      subscriptions.transportCreated();
      // The response must be sent before events of the new transport.
      setImmediate(() => subscriptions.update());
    }
    return transport;
  }

  /** Receivers of tracks are ready. `path`: as of their transport. @throws ServiceError `not_found` */
  async tracksReady(trackIds: readonly string[], path: string | undefined): Promise<void> {
    await (path === undefined ? this.#subscriptions : this.#find(path).subscriptions).allReady(trackIds);
  }

  /** Ends a move that is not completed. */
  cancel(reason: string): void {
    this.#move?.cancel(reason);
  }

  #find(path: string): Move {
    if (this.#move?.path !== path) throw new ServiceError('not_found', `Path ${path} does not exist`);
    return this.#move;
  }

  #open(open: (listener: PeerMediaListener) => PeerMedia): PeerMedia {
    const { listener, failed, lost } = this.#options;
    const media: PeerMedia = open({
      ...listener,
      failed: (reason) => (media === this.#media ? failed(reason) : this.#move?.cancel(reason)),
      lost: () => (media === this.#media ? lost() : this.#move?.cancel('The new path was lost')),
    });
    return media;
  }
}
