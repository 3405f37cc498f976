// Data publications of one connected peer: its data tracks, over one path, or over two while the peer moves.
import { ServiceError } from '../../../../api/errors.ts';
import type { PeerEvent } from '../../../../api/socket/peer-events.ts';
import type { RoomChange } from '../../changes/room-change.ts';
import { newId } from '../../ids.ts';
import type { PeerMedia, WireObject } from '../../interfaces.ts';
import type { DataTrack } from '../../track.ts';
import type { MediaPaths } from '../paths/media-paths.ts';
import { DataHold } from './data-hold.ts';

/** `replaces`: id of the data track that it succeeds, over the path that the peer moves to. */
export type PublishDataRequest = {
  transportId: string;
  sctpStreamParameters: WireObject;
  label: string;
  protocol: string;
  replaces?: string | undefined;
};
/** Receivers of the data tracks. */
export type DataReceiver = {
  succeeding(dataTrack: DataTrack): Promise<void>;
  succeeded(dataTrack: DataTrack): Promise<void>;
  awaits(dataTrackId: string): boolean;
};

export type DataPublicationsOptions = {
  peerId: string;
  paths: Pick<MediaPaths, 'supported' | 'media' | 'others' | 'mediaOf'>;
  send: (event: PeerEvent) => void;
  announce: (change: RoomChange) => void;
  receivers: () => Iterable<DataReceiver>;
  /** @throws ServiceError `forbidden`, `peer_not_found` */
  mayPublish: () => void;
  /** Counts a publication. @throws ServiceError `tracks_full` */
  reserved: <Value>(work: () => Promise<Value>) => Promise<Value>;
};

/** What is sent, and over which path. */
type Sent = { mediaId: string; media: PeerMedia };
type Published = DataTrack &
  Sent & {
    readonly hold: DataHold;
    /** Number of successors so far. */
    successors: number;
    successor: Sent | undefined;
    /** True until the client is notified that its successor is used. */
    replaced: boolean;
  };

export class DataPublications {
  readonly #options: DataPublicationsOptions;
  readonly #tracks = new Map<string, Published>();

  constructor(options: DataPublicationsOptions) {
    this.#options = options;
  }

  get tracks(): Iterable<DataTrack> {
    return this.#tracks.values();
  }

  get count(): number {
    return this.#tracks.size;
  }

  /** Number of data tracks that are published over a second path too. */
  get succeeded(): number {
    return [...this.#tracks.values()].filter(({ successor }) => successor).length;
  }

  /** True while a peer may not have received everything that was sent over the former path. */
  get awaited(): boolean {
    const receivers = [...this.#options.receivers()];
    return [...this.#tracks.keys()].some((id) => receivers.some((receiver) => receiver.awaits(id)));
  }

  /** @throws ServiceError `forbidden`, `tracks_full`, `invalid_field`, `not_found`, `conflict`, `track_not_found` */
  async publish({ replaces, ...request }: PublishDataRequest): Promise<{ dataTrackId: string }> {
    const { peerId, paths, mayPublish, reserved, announce } = this.#options;
    const { media } = paths;
    const over = paths.mediaOf(request.transportId);
    if (over !== media || replaces !== undefined) return this.#succeed({ replaces, ...request }, over);
    mayPublish();
    const id = newId();
    const { reliable } = await reserved(() => media.data.publish({ ...request, dataTrackId: id }));
    try {
      mayPublish();
    } catch (error) {
      media.data.unpublish(id);
      throw error;
    }
    const { label, protocol } = request;
    const state = { mediaId: id, media, reliable, successors: 0, successor: undefined, replaced: false };
    const published: Published = { id, peerId, label, protocol, hold: this.#holdOf(() => published), ...state };
    this.#tracks.set(id, published);
    announce({ kind: 'dataTrackAdded', dataTrack: published });
    return { dataTrackId: id };
  }

  /** @throws ServiceError `track_not_found` */
  remove(dataTrackId: string): void {
    const published = this.#require(dataTrackId);
    this.#tracks.delete(dataTrackId);
    this.#options.announce({ kind: 'dataTrackRemoved', dataTrack: published });
    const { media, others } = this.#options.paths;
    for (const each of [media, ...others]) for (const mediaId of mediaIdsOf(published)) each.data.unpublish(mediaId);
  }

  clear(): void {
    for (const id of [...this.#tracks.keys()]) this.remove(id);
  }

  /** The client sends nothing on a data track, after this number of messages. @throws ServiceError `track_not_found` */
  held(dataTrackId: string, messages: number): void {
    this.#require(dataTrackId).hold.held(messages);
  }

  /** The peer uses its new path: changes to the successors. Resolves when nothing is sent over the former path any more. */
  async changePath(): Promise<void> {
    await Promise.all([...this.#tracks.values()].map((published) => this.#change(published)));
  }

  /** The second path ended. */
  cancel(): void {
    for (const published of this.#tracks.values()) published.successor = undefined;
  }

  async #succeed({ replaces = '', ...request }: PublishDataRequest, media: PeerMedia): Promise<{ dataTrackId: string }> {
    const published = this.#require(replaces);
    if (media === this.#options.paths.media || published.successor)
      throw new ServiceError('conflict', 'A data track is replaced once, over a new path');
    published.successors += 1;
    const mediaId = `${published.id}.${published.successors}`;
    const { label, protocol } = published;
    await media.data.publish({ ...request, label, protocol, dataTrackId: mediaId });
    if (this.#tracks.get(published.id) !== published) {
      media.data.unpublish(mediaId);
      throw new ServiceError('track_not_found', `Data track ${published.id} does not exist`);
    }
    published.successor = { mediaId, media };
    for (const receiver of this.#options.receivers()) void receiver.succeeding(published);
    return { dataTrackId: published.id };
  }

  async #change(published: Published): Promise<void> {
    const { successor } = published;
    if (!successor) return;
    const { receivers } = this.#options;
    await Promise.all([...receivers()].map((receiver) => receiver.succeeding(published)));
    await published.hold.run(async () => {
      Object.assign(published, { ...successor, successor: undefined, replaced: true });
      await Promise.all([...receivers()].map((receiver) => receiver.succeeded(published)));
    });
  }

  #holdOf(published: () => Published): DataHold {
    const { paths, send } = this.#options;
    return new DataHold({
      supported: () => paths.supported && published().reliable && this.#tracks.has(published().id),
      request: () => send({ event: 'holdData', data: { dataTrackId: published().id } }),
      arrived: (messages) => published().media.data.arrived(published().mediaId, messages),
      end: (held) => {
        const { id: dataTrackId, replaced } = published();
        published().replaced = false;
        if (held || replaced) send({ event: 'continueData', data: { dataTrackId, ...(replaced && { replaced: true as const }) } });
      },
    });
  }

  #require(dataTrackId: string): Published {
    const published = this.#tracks.get(dataTrackId);
    if (!published) throw new ServiceError('track_not_found', `Data track ${dataTrackId} does not exist`);
    return published;
  }
}

/** Of what is published, and was. */
function mediaIdsOf({ id, successors }: Published): string[] {
  return [id, ...Array.from({ length: successors }, (_, index) => `${id}.${index + 1}`)];
}
