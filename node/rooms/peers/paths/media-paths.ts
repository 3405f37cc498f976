// Media paths of a connected peer: one, or two while it moves to another media worker.
import { ServiceError } from '../../../../api/errors.ts';
import type { PeerMedia, PeerMediaListener, RoomMedia, TransportUse, WireObject } from '../../interfaces.ts';
import type { DataSubscriptions } from '../data/data-subscriptions.ts';
import type { Subscriptions } from '../subscriptions.ts';
import { Move, notMovedError } from './move.ts';
import type { MoveQueue } from './move-queue.ts';

export type MediaPathsOptions = {
  peerId: string;
  room: RoomMedia;
  queue: MoveQueue;
  /** Of the media of both paths, without what concerns one of them. */
  listener: Omit<PeerMediaListener, 'failed' | 'lost'>;
  subscriptions: (media: PeerMedia) => Subscriptions;
  /** True while the peer publishes something over its first path only. */
  holdsPath: () => boolean;
  /** True while receivers of its tracks have not changed to the second path. */
  awaited: () => boolean;
  /** Data tracks that the peer receives. */
  dataSubscriptions: DataSubscriptions;
  data: {
    /** The second path is the one in use. Resolves when all data tracks are sent over it. Never fails. */
    change: () => Promise<unknown>;
    /** True while what was sent over the first path may not have arrived. */
    awaited: () => boolean;
  };
  /** The only path failed permanently. */
  failed: (reason: string) => void;
  /** The only path was lost. */
  lost: () => void;
  migrate: (path: string) => void;
  /** Only the second path remains. `media`: of the first one, to be closed. */
  pathUsed: (path: string, media: PeerMedia) => void;
  /** The second path is closed; the first one stays. */
  pathClosed: (path: string) => void;
};

export class MediaPaths {
  /** True if the client can have two paths, and receive a track twice. */
  supported = false;
  /** Data tracks that the peer receives, over both paths. */
  readonly data: DataSubscriptions;
  readonly #options: MediaPathsOptions;
  #media: PeerMedia;
  #subscriptions: Subscriptions;
  /** Until it is its turn to be moved, and then until the move ends. */
  #requested: AbortController | undefined;
  /** Until the client uses its second path. */
  #move: Move | undefined;
  /** The path that the client changed to last. */
  #used: string | undefined;
  /** Until the former path is closed. */
  #changed: { move: Move; former: PeerMedia } | undefined;

  constructor(options: MediaPathsOptions) {
    this.#options = options;
    this.data = options.dataSubscriptions;
    this.#media = this.#open((listener) => options.room.openPeer(options.peerId, listener));
    this.#subscriptions = options.subscriptions(this.#media);
  }

  get media(): PeerMedia {
    return this.#media;
  }

  /** Media of a path that the peer changes to, or has changed from. */
  get others(): readonly PeerMedia[] {
    return [this.#move?.media, this.#changed?.former].flatMap((media) => media ?? []);
  }

  get subscriptions(): Subscriptions {
    return this.#subscriptions;
  }

  /**
   * Moves the peer to another media worker. Resolves when its client has changed to it.
   * @throws ServiceError `conflict` if the client or the room does not support it, or the client does not complete it; `unavailable` if
   * moves of other peers take too long
   */
  async move(worker: number | undefined): Promise<void> {
    if (this.#requested) throw new ServiceError('conflict', `Peer ${this.#options.peerId} is being moved already`);
    this.#assertMovable();
    const requested = new AbortController();
    this.#requested = requested;
    try {
      await this.#options.queue.run(requested.signal, () => this.#moveNow(worker));
    } finally {
      this.#requested = undefined;
    }
  }

  #assertMovable(): void {
    if (!this.supported) throw new ServiceError('conflict', `The client of peer ${this.#options.peerId} cannot move`);
  }

  async #moveNow(worker: number | undefined): Promise<void> {
    const { peerId, room, migrate } = this.#options;
    // It may have changed while the peer waited.
    this.#assertMovable();
    const media = this.#open((listener) => room.openPath(peerId, listener, { from: this.#media, worker }));
    const { next, promote } = this.#subscriptions.over(media);
    const move = new Move({ media, subscriptions: next, promote }, () => this.#cancel('Its client did not use the new path in time'));
    this.#move = move;
    migrate(move.path);
    await move.completed;
  }

  /** The client uses the second path only. @throws ServiceError `not_found`, `conflict` if it publishes something over the first one only */
  use(path: string): void {
    const move = this.#find(path);
    const { holdsPath, awaited, data } = this.#options;
    if (holdsPath()) {
      this.#cancel('Its client did not publish everything over the new path');
      throw new ServiceError('conflict', 'Something is published over the former path only');
    }
    const [former, subscriptions] = [this.#media, this.#subscriptions];
    this.#media = move.media;
    this.#subscriptions = move.subscriptions;
    this.#move = undefined;
    this.#used = path;
    this.#changed = { move, former };
    subscriptions.close();
    // The response must be sent before events of the path.
    setImmediate(() => {
      move.promote();
      void move.followed(awaited, data).then(() => this.#finish(move));
    });
  }

  #finish(move: Move): void {
    if (this.#changed?.move !== move) return;
    const { former } = this.#changed;
    this.#changed = undefined;
    this.#options.pathUsed(move.path, former);
    move.complete();
  }

  /** The media that has the transport. */
  mediaOf(transportId: string): PeerMedia {
    if (!this.#move?.has(transportId)) return this.#media;
    this.#move.progressed();
    return this.#move.media;
  }

  /** `path`: the second one, if the transport belongs to it. @throws ServiceError `not_found` */
  async createTransport(use: TransportUse, { sctp, path }: { sctp: boolean; path?: string | undefined }): Promise<WireObject> {
    const move = path === undefined ? undefined : this.#find(path);
    const transport = await (move ?? this.#media).createTransport(use, { sctp });
    if (use !== 'send') {
      const subscriptions = move?.subscriptions ?? this.#subscriptions;
      subscriptions.transportEnded({ again: false });
      // The response must be sent before events of the new transport.
      setImmediate(() => {
        subscriptions.update();
        if (move) this.data.prepare(move.media);
      });
    }
    return transport;
  }

  /** Receivers of tracks are ready. `path`: as of their transport. @throws ServiceError `not_found` */
  async tracksReady(trackIds: readonly string[], path: string | undefined): Promise<void> {
    await this.#subscriptionsOver(path).allReady(trackIds);
  }

  /** Tracks flow that were announced with `replaces`. `path`: as of their transport. @throws ServiceError `not_found` */
  tracksFlowing(trackIds: readonly string[], path: string | undefined): void {
    this.#subscriptionsOver(path).following.flowing(trackIds);
  }

  /** Ends a move that is not completed. */
  cancel(reason: string): void {
    if (this.#changed) this.#finish(this.#changed.move);
    this.#cancel(reason);
  }

  #cancel(reason: string): void {
    this.#requested?.abort(notMovedError(reason));
    const move = this.#move;
    if (!move) return;
    this.#move = undefined;
    move.cancel(reason);
    this.data.prepare(undefined);
    this.#options.pathClosed(move.path);
  }

  /** Requests that were sent before the response to `usePath` have its path. */
  #subscriptionsOver(path: string | undefined): Subscriptions {
    return path === undefined || path === this.#used ? this.#subscriptions : this.#find(path).subscriptions;
  }

  #find(path: string): Move {
    if (this.#move?.path !== path) throw new ServiceError('not_found', `Path ${path} does not exist`);
    this.#move.progressed();
    return this.#move;
  }

  #open(open: (listener: PeerMediaListener) => PeerMedia): PeerMedia {
    const { listener, failed, lost } = this.#options;
    const media: PeerMedia = open({
      ...listener,
      failed: (reason) => (media === this.#media ? failed(reason) : this.cancel(reason)),
      lost: () => (media === this.#media ? lost() : this.cancel('The new path was lost')),
    });
    return media;
  }
}
