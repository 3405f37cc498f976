// Data reception: a data track that a peer receives, over one channel, or over further ones while the peer or the publisher moves.
import { ServiceError } from '../../../../api/errors.ts';
import type { PeerEvent } from '../../../../api/socket/peer-events.ts';
import { settleWithin, Timer } from '../../../common/timer.ts';
import type { PeerMedia } from '../../interfaces.ts';
import type { DataTrack } from '../../track.ts';

/** Time in milliseconds for the client to create a channel, and then to receive the rest over the former ones. */
const readyTimeoutMs = 3_000;
const formerTimeoutMs = 5_000;

export type DataReceptionOptions = {
  /** Of the path that the peer uses. */
  media: () => PeerMedia;
  /** Of the path that it moves to, until it uses it. */
  nextMedia: () => PeerMedia | undefined;
  send: (event: PeerEvent) => void;
  /** True if the client can receive a data track over two channels. */
  follows: () => boolean;
};

/** `mediaId`: of what the publisher sends. */
export type ChannelTarget = { media: PeerMedia; mediaId: string };
/** `number`: in the order of announcements. */
type Channel = ChannelTarget & { number: number; ready: PromiseWithResolvers<void> };

export class DataReception {
  readonly #track: DataTrack;
  readonly #options: DataReceptionOptions;
  #count = 0;
  #active: Channel | undefined;
  /** Announced, but nothing is sent on them yet: for each path, and for what the publisher sends and its successor. */
  #next: Channel[] = [];
  /** Nothing is sent on them any more, but the client may not have received everything. */
  #former: Channel[] = [];
  #timeout: Timer | undefined;
  /** One step after the other. */
  #steps: Promise<void> = Promise.resolve();
  #ended = false;

  constructor(track: DataTrack, options: DataReceptionOptions) {
    this.#track = track;
    this.#options = options;
  }

  get track(): DataTrack {
    return this.#track;
  }

  /** True while messages of a former channel may not have arrived. */
  get awaited(): boolean {
    return this.#former.length > 0;
  }

  /** @throws ServiceError `track_not_found` if it has ended meanwhile */
  start(): Promise<void> {
    return this.#step(async () => {
      this.#active = await this.#open(this.#target());
    });
  }

  /** Announces further channels. Resolves when the client has created this one, or after a while. */
  async prepare(awaited: ChannelTarget): Promise<void> {
    if (!this.#options.follows() || isOf(this.#active, awaited)) return;
    await this.#step(() => this.#announceAll());
    await this.#isReady(awaited);
  }

  /** Changes to the channel of the path that the peer uses, and of what the publisher sends now. */
  change(): Promise<void> {
    return this.#step(async () => {
      const target = this.#target();
      if (this.#ended || isOf(this.#active, target)) return;
      if (!this.#options.follows()) {
        await this.#restart(target);
        return;
      }
      await this.#announce(target);
      await this.#isReady(target);
      await this.#switch(target);
    });
  }

  /** The client has created a channel. */
  async ready(number: number): Promise<void> {
    const channel = [this.#active, ...this.#next].find((each) => each?.number === number);
    channel?.ready.resolve();
    if (channel && channel === this.#active) await channel.media.data.setPaused(channel.mediaId, false);
  }

  /** Everything of the channels before this one has arrived. */
  flowing(number: number): void {
    const [done, left] = [this.#former.filter((each) => each.number < number), this.#former.filter((each) => each.number >= number)];
    this.#former = left;
    for (const channel of done) close(channel);
    if (left.length === 0) this.#timeout?.stop();
  }

  end(): void {
    this.#ended = true;
    this.#timeout?.stop();
    for (const channel of [this.#active, ...this.#next, ...this.#former]) if (channel) close(channel);
    this.#active = undefined;
    this.#next = [];
    this.#former = [];
  }

  #target(): ChannelTarget {
    return { media: this.#options.media(), mediaId: this.#track.mediaId };
  }

  async #isReady(target: ChannelTarget): Promise<void> {
    const next = this.#next.find((each) => isOf(each, target));
    if (!next) return;
    await settleWithin(readyTimeoutMs, [next.ready.promise]);
    // A slow client is waited for once, not again while the publisher holds its messages.
    next.ready.resolve();
  }

  #step(work: () => Promise<void>): Promise<void> {
    const step = this.#steps.then(work);
    this.#steps = step.catch(() => {});
    return step;
  }

  /** The last one is that over the new path of the publisher and of this peer. */
  async #announceAll(): Promise<void> {
    const { media, nextMedia } = this.#options;
    const { mediaId, successor } = this.#track;
    const targets = [mediaId, successor?.mediaId].flatMap((id) =>
      [media(), nextMedia()].flatMap((each): ChannelTarget[] => (each && id !== undefined ? [{ media: each, mediaId: id }] : [])),
    );
    this.#dropNext((next) => !targets.some((target) => isOf(next, target)));
    for (const target of targets) {
      // It fails only if the path or the successor has ended.
      if (!isOf(this.#active, target)) await this.#announce(target).catch(() => {});
    }
  }

  async #announce(target: ChannelTarget): Promise<void> {
    if (this.#next.some((each) => isOf(each, target))) return;
    this.#next.push(await this.#open(target));
  }

  #dropNext(drops: (next: Channel) => boolean): void {
    for (const next of this.#next.filter(drops)) {
      next.ready.resolve();
      close(next);
    }
    this.#next = this.#next.filter((next) => !drops(next));
  }

  async #open({ media, mediaId }: ChannelTarget): Promise<Channel> {
    const { send, follows } = this.#options;
    const paused = follows();
    const subscription = await media.data.subscribe(mediaId, { paused });
    if (this.#ended) {
      media.data.unsubscribe(mediaId);
      throw new ServiceError('track_not_found', `Data track ${this.#track.id} is not received any more`);
    }
    const number = this.#count;
    this.#count += 1;
    const { id: dataTrackId, peerId } = this.#track;
    send({ event: 'dataTrackSubscribed', data: { peerId, dataTrackId, ...subscription, ...(paused && { channel: number }) } });
    return { media, mediaId, number, ready: Promise.withResolvers() };
  }

  /** For clients that receive a data track over one channel. */
  async #restart(target: ChannelTarget): Promise<void> {
    if (this.#active) close(this.#active);
    this.#active = undefined;
    this.#options.send({ event: 'dataTrackUnsubscribed', data: { dataTrackId: this.#track.id } });
    this.#active = await this.#open(target);
  }

  /** Without a loss, because the publisher sends nothing meanwhile. */
  async #switch(target: ChannelTarget): Promise<void> {
    const former = this.#active;
    const next = this.#next.find((each) => isOf(each, target));
    if (!next || this.#ended) return;
    const messages = former && (await stop(former));
    // Fails only if the channel has ended.
    await next.media.data.setPaused(next.mediaId, false).catch(() => {});
    if (this.#ended) return;
    this.#active = next;
    this.#next = this.#next.filter((each) => each !== next);
    this.#dropNext(({ number }) => number < next.number);
    if (former) this.#former.push(former);
    const { id: dataTrackId, reliable } = this.#track;
    const data = { dataTrackId, channel: next.number, messages: (reliable ? messages : undefined) ?? null };
    this.#options.send({ event: 'dataSwitched', data });
    this.#timeout?.stop();
    this.#timeout = new Timer(formerTimeoutMs, () => this.flowing(next.number));
  }
}

function isOf(channel: Channel | undefined, { media, mediaId }: ChannelTarget): boolean {
  return channel?.media === media && channel.mediaId === mediaId;
}

/** @returns the number of messages sent on the channel; undefined if it has ended */
async function stop({ media, mediaId }: Channel): Promise<number | undefined> {
  try {
    await media.data.setPaused(mediaId, true);
    return await media.data.sent(mediaId);
  } catch {
    return undefined;
  }
}

function close({ media, mediaId }: Channel): void {
  media.data.unsubscribe(mediaId);
}
