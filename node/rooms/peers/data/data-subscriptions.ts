// Data subscriptions of one connected peer: data tracks of the others, over one path, or over two while the peer moves.
import type { Log } from '../../../common/log.ts';
import type { PeerMedia } from '../../interfaces.ts';
import type { DataTrack } from '../../track.ts';
import { DataReception, type DataReceptionOptions } from './data-reception.ts';

export type DataSubscriptionsOptions = Omit<DataReceptionOptions, 'nextMedia'> & {
  log: Log;
  /** Data tracks of the other peers. */
  published: () => Iterable<DataTrack>;
  /** Data channels require both the permission to send and to receive. */
  allowed: () => boolean;
};

/** Lives as long as one session of a peer. */
export class DataSubscriptions {
  readonly #options: DataSubscriptionsOptions;
  readonly #receptions = new Map<string, DataReception>();
  /** Of the path that the peer moves to, until it uses it. */
  #nextMedia: PeerMedia | undefined;

  constructor(options: DataSubscriptionsOptions) {
    this.#options = options;
  }

  /** Ends what is not permitted any more. */
  enforce(): void {
    if (!this.#options.allowed()) for (const id of [...this.#receptions.keys()]) this.drop(id);
  }

  /** Receives everything. */
  update(): void {
    const { allowed, media, published } = this.#options;
    if (!allowed() || !media().data.canReceive) return;
    for (const dataTrack of published()) if (!this.#receptions.has(dataTrack.id)) this.#start(dataTrack);
  }

  /** A data track ended, or is not permitted any more. */
  drop(dataTrackId: string): void {
    const reception = this.#receptions.get(dataTrackId);
    if (!reception) return;
    this.#receptions.delete(dataTrackId);
    reception.end();
    this.#options.send({ event: 'dataTrackUnsubscribed', data: { dataTrackId } });
  }

  /** The receive transport ended. */
  forget(): void {
    for (const reception of this.#receptions.values()) reception.end();
    this.#receptions.clear();
  }

  /** Announces further channels over the path that the peer moves to; undefined: it stays. */
  prepare(media: PeerMedia | undefined): void {
    this.#nextMedia = media?.data.canReceive ? media : undefined;
    if (!media) return;
    for (const reception of this.#receptions.values()) void this.#prepare(reception, media, reception.track.mediaId);
  }

  /** The peer uses its new path. Resolves when everything is sent over it. */
  async changePath(): Promise<void> {
    this.#nextMedia = undefined;
    await Promise.all(
      [...this.#receptions.values()].map(async (reception) => {
        const { track } = reception;
        await this.#prepare(reception, this.#options.media(), track.mediaId);
        await track.hold.run(() => this.#change(reception));
      }),
    );
  }

  /** The publisher of a data track moves. Resolves when this peer can receive its successor, or after a while. */
  async succeeding({ id, successor }: DataTrack): Promise<void> {
    const reception = this.#receptions.get(id);
    if (reception && successor) await this.#prepare(reception, this.#options.media(), successor.mediaId);
  }

  /** The publisher sends the successor from now on. */
  async succeeded({ id }: DataTrack): Promise<void> {
    const reception = this.#receptions.get(id);
    if (reception) await this.#change(reception);
  }

  /** The client has created a channel. Ignored if that has ended. */
  async ready(dataTrackId: string, channel: number): Promise<void> {
    await this.#receptions
      .get(dataTrackId)
      ?.ready(channel)
      .catch(() => {});
  }

  /** Everything of the channels before this one has arrived. */
  flowing(dataTrackId: string, channel: number): void {
    this.#receptions.get(dataTrackId)?.flowing(channel);
  }

  /** True while messages of a former channel of a data track may not have arrived. Default: of any. */
  awaits(dataTrackId?: string): boolean {
    return [...this.#receptions].some(([id, { awaited }]) => awaited && (dataTrackId === undefined || id === dataTrackId));
  }

  #start(dataTrack: DataTrack): void {
    const reception = new DataReception(dataTrack, { ...this.#options, nextMedia: () => this.#nextMedia });
    this.#receptions.set(dataTrack.id, reception);
    const started = reception.start().catch((error: unknown) => {
      if (this.#receptions.get(dataTrack.id) === reception) this.#receptions.delete(dataTrack.id);
      throw error;
    });
    started.catch((error: unknown) => this.#options.log.debug({ err: error }, 'could not subscribe to data track'));
  }

  async #prepare(reception: DataReception, media: PeerMedia, mediaId: string): Promise<void> {
    try {
      await reception.prepare({ media, mediaId });
    } catch (error) {
      this.#options.log.debug({ err: error }, 'could not prepare data channel');
    }
  }

  async #change(reception: DataReception): Promise<void> {
    try {
      await reception.change();
    } catch (error) {
      this.#options.log.debug({ err: error }, 'could not change data channel');
      const { id } = reception.track;
      if (this.#receptions.get(id) === reception) this.drop(id);
    }
  }
}
