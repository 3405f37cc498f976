// Received data: data channels of other peers as the application has them, each over one channel of the browser, or over further ones while
// this peer or the other one moves.
import type { types } from 'mediasoup-client';
import { type DataChannelMessage, RemoteDataChannel, sizeOf } from '../data-channel.ts';
import type { EventData } from '../generated/protocol.ts';
import type { MediaSession } from './media-session.ts';
import { MessageOrder } from './message-order.ts';
import type { Request } from './transport-requests.ts';

export type ReceivedDataOptions = { request: Request; subscribed: (channel: RemoteDataChannel) => void };

/** Time in milliseconds without a message of the former channel after which its rest is not waited for, and bytes that wait for it. */
const stalledMs = 2_000;
const maxWaitingBytes = 16 * 1024 * 1024;

type Link = { session: MediaSession; consumer: types.DataConsumer };

export class ReceivedData {
  readonly #options: ReceivedDataOptions;
  readonly #tracks = new Map<string, ReceivedDataTrack>();

  constructor(options: ReceivedDataOptions) {
    this.#options = options;
  }

  /** Number of channels that are received over this session, but not over the other one. */
  countOver(session: MediaSession, other: MediaSession): number {
    return [...this.#tracks.values()].filter((track) => track.isOver(session) && !track.isOver(other)).length;
  }

  subscribed(
    session: MediaSession,
    { peerId, dataTrackId, channel }: EventData['dataTrackSubscribed'],
    consumer: types.DataConsumer,
  ): void {
    const { request, subscribed } = this.#options;
    const known = this.#tracks.get(dataTrackId);
    const track = known ?? new ReceivedDataTrack(new RemoteDataChannel(peerId, consumer), channel ?? 0, request);
    this.#tracks.set(dataTrackId, track);
    consumer.observer.on('close', () => {
      if (track.ended(channel ?? 0) && this.#tracks.get(dataTrackId) === track) this.#tracks.delete(dataTrackId);
    });
    track.add(channel ?? 0, { session, consumer });
    if (!known) subscribed(track.channel);
    // Nodes before 0.8 number no channels.
    if (channel !== undefined) request('dataReady', { dataTrackId, channel }).catch(() => {});
  }

  switched({ dataTrackId, channel, messages }: EventData['dataSwitched']): void {
    this.#tracks.get(dataTrackId)?.switched(channel, messages);
  }
}

class ReceivedDataTrack {
  readonly channel: RemoteDataChannel;
  readonly #request: Request;
  readonly #links = new Map<number, Link>();
  readonly #order: MessageOrder<DataChannelMessage>;
  #waitingBytes = 0;
  /** Runs while messages wait and none is delivered. */
  #stalled: ReturnType<typeof setTimeout> | undefined;

  constructor(channel: RemoteDataChannel, number: number, request: Request) {
    this.channel = channel;
    this.#request = request;
    this.#order = new MessageOrder(number);
  }

  isOver(session: MediaSession): boolean {
    return [...this.#links.values()].some((link) => link.session === session);
  }

  add(number: number, link: Link): void {
    this.#links.set(number, link);
    link.consumer.binaryType = 'arraybuffer';
    link.consumer.on('message', (message: DataChannelMessage) => {
      if (number > this.#order.current) this.#waitingBytes += sizeOf(message);
      this.#deliver(() => this.#order.receive(number, message));
      if (this.#waitingBytes > maxWaitingBytes) this.#skip();
    });
  }

  switched(number: number, messages: number | null): void {
    this.#deliver(() => this.#order.switched(number, messages));
  }

  /** A channel of the browser closed. @returns true if it was the only one */
  ended(number: number): boolean {
    this.#links.delete(number);
    this.#deliver(() => this.#order.ended(number));
    if (this.#links.size > 0) return false;
    this.#stopStalled();
    this.channel.ended();
    return true;
  }

  #deliver(step: () => DataChannelMessage[]): void {
    const before = this.#order.current;
    const delivered = step();
    for (const data of delivered) this.channel.received(data);
    const { current, behind } = this.#order;
    // Messages that wait do not count.
    if (!behind || delivered.length > 0) this.#stopStalled();
    if (behind) this.#stalled ??= setTimeout(() => this.#skip(), stalledMs);
    if (current === before) return;
    this.#waitingBytes = 0;
    this.#request('dataFlowing', { dataTrackId: this.channel.id, channel: current }).catch(() => {});
    for (const [number, { consumer }] of [...this.#links]) if (number < current) consumer.close();
  }

  #skip(): void {
    this.#stopStalled();
    this.#deliver(() => this.#order.skip());
  }

  #stopStalled(): void {
    clearTimeout(this.#stalled);
    this.#stalled = undefined;
  }
}
