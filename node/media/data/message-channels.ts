// Message channels of a peer: data channels that the node itself reads and writes, instead of forwarding them. The media worker only has
// SCTP; the node speaks DCEP (RFC 8832).
import type { DataConsumer, DataProducer, DirectTransport, WebRtcTransport } from 'mediasoup/types';
import { Timer } from '../../common/timer.ts';
import { TokenBucket } from '../../common/token-bucket.ts';
import type { MessageChannel, MessageChannelListener, MessageChannels } from '../../rooms/interfaces.ts';
import { mediaClosedError, toWorkerError } from '../media-error.ts';
import { SingleFlight } from '../single-flight.ts';
import type { WorkerProcess } from '../worker/worker-process.ts';
import { ackMessage, openMessage, payloadProtocol, readOpen } from './dcep.ts';

/** Streams that a client may open. It is the DTLS client, so its streams have even numbers (RFC 8832, section 6). */
const incomingStreams = [0, 2, 4, 6];
/** Send queue of a channel in bytes. Beyond it messages are dropped. */
const maxQueued = 1024 * 1024;
const maxQueuedLossy = 64 * 1024;
/** Messages per second that the node reads from a client, and the burst in seconds. Beyond it, the media worker drops them for a while. */
const maxMessages = 1_000;
const messageBurst = 4;
const pauseMs = 1_000;
/** Bytes in the send buffer of SCTP below which a queue continues. */
const lowWater = 64 * 1024;

export type MessageChannelsOptions = {
  worker: WorkerProcess;
  /** Of the client: it opens channels in one, and the node in the other. If they are the same, the node uses the channels of the client. */
  send: WebRtcTransport;
  recv: WebRtcTransport;
  /** Passes messages between the node and the media worker. */
  direct: DirectTransport;
  /** Of the direct transport; messages of the node have it as source. */
  source: DataProducer;
  channels: readonly MessageChannel[];
  listener: MessageChannelListener;
};

type Outgoing = { consumer: DataConsumer; reliable: boolean; queue: Buffer[]; bytes: number; busy: boolean };

export class NodeMessageChannels implements MessageChannels {
  readonly #options: MessageChannelsOptions;
  /** Label of each stream that the client opened. */
  readonly #incoming = new Map<number, string>();
  /** Those that respond on streams of the client, by stream. */
  readonly #acknowledging = new SingleFlight<DataConsumer>(mediaClosedError);
  readonly #outgoing = new Map<string, Outgoing>();
  readonly #owned: { close(): void }[] = [];
  /** Pass messages of the client from the media worker to the node. */
  readonly #taps: DataConsumer[] = [];
  readonly #budget = new TokenBucket(() => maxMessages, messageBurst);
  #pause: Timer | undefined;
  #closed = false;

  constructor(options: MessageChannelsOptions) {
    this.#options = options;
  }

  /** Accepts channels of the client, and opens those of the node when SCTP is connected. */
  async open(): Promise<void> {
    const { send, recv } = this.#options;
    await Promise.all(incomingStreams.map((streamId) => this.#listen(streamId)));
    if (send === recv) return;
    const begin = () => void this.#openOutgoing().catch(() => this.close());
    if (recv.sctpState === 'connected') begin();
    else
      recv.on('sctpstatechange', (state) => {
        if (state === 'connected' && this.#outgoing.size === 0) begin();
      });
  }

  send(label: string, message: Buffer): boolean {
    const channel = this.#outgoing.get(label);
    if (this.#closed || !channel) return false;
    if (channel.bytes + message.length > (channel.reliable ? maxQueued : maxQueuedLossy)) return false;
    channel.queue.push(message);
    channel.bytes += message.length;
    if (!channel.busy) void this.#flush(channel);
    return true;
  }

  /** Before the transports, which end with the peer. Idempotent. */
  close(): void {
    this.#closed = true;
    this.#pause?.stop();
    // In reverse: the media worker closes the consumers of a producer with it, and would not find them afterwards.
    for (const each of this.#owned.splice(0).reverse()) each.close();
    this.#outgoing.clear();
  }

  async #listen(streamId: number): Promise<void> {
    const { send, direct } = this.#options;
    const producer = await this.#call(send.produceData({ sctpStreamParameters: { streamId, ordered: true }, label: `stream ${streamId}` }));
    const tap = await this.#call(direct.consumeData({ dataProducerId: producer.id }));
    this.#taps.push(tap);
    tap.on('message', (message, protocol) => this.#received(streamId, message, protocol));
  }

  #received(streamId: number, message: Buffer, protocol: number): void {
    if (this.#closed || this.#pause) return;
    if (!this.#budget.take()) {
      this.#pauseReading();
      return;
    }
    if (protocol === payloadProtocol.dcep) {
      const label = readOpen(message);
      // An acknowledgement needs no response.
      if (label === undefined) return;
      this.#incoming.set(streamId, label);
      this.#acknowledge(streamId, label).catch(() => {});
      return;
    }
    const label = this.#incoming.get(streamId);
    if (label !== undefined) this.#options.listener.message(label, message);
  }

  /** What a client floods the node with ends at the media worker, which costs the node nothing. */
  #pauseReading(): void {
    const ignored = () => {};
    for (const tap of this.#taps) tap.pause().catch(ignored);
    this.#pause = new Timer(pauseMs, () => {
      this.#pause = undefined;
      for (const tap of this.#taps) tap.resume().catch(ignored);
    });
  }

  async #acknowledge(streamId: number, label: string): Promise<void> {
    const { send, recv, channels } = this.#options;
    const channel = send === recv ? channels.find((each) => each.label === label) : undefined;
    const reliable = channel?.reliable ?? true;
    const consumer = await this.#acknowledging.getOrMake(String(streamId), () => this.#consume(send, streamId, reliable));
    await this.#begin(consumer, ackMessage, channel);
  }

  async #openOutgoing(): Promise<void> {
    // The node is the DTLS server, so its streams have odd numbers.
    const { recv, channels } = this.#options;
    for (const [index, channel] of channels.entries()) {
      const consumer = await this.#consume(recv, 2 * index + 1, channel.reliable);
      await this.#begin(consumer, openMessage(channel.label, channel.reliable), channel);
    }
  }

  /** `first`: the message of DCEP with which the node begins to send. `channel`: what it sends then. */
  async #begin(consumer: DataConsumer, first: Buffer, channel: MessageChannel | undefined): Promise<void> {
    await consumer.setBufferedAmountLowThreshold(lowWater);
    await consumer.send(first, payloadProtocol.dcep);
    if (!channel || this.#outgoing.has(channel.label)) return;
    this.#outgoing.set(channel.label, { consumer, reliable: channel.reliable, queue: [], bytes: 0, busy: false });
  }

  /** mediasoup assigns stream numbers itself, before its first await; DCEP needs the number of the channel. */
  async #consume(transport: WebRtcTransport, streamId: number, reliable: boolean): Promise<DataConsumer> {
    const numbered = transport as WebRtcTransport & { allocateSctpStreamId?: () => number };
    const reliability = reliable ? { ordered: true } : { ordered: false, maxRetransmits: 0 };
    numbered.allocateSctpStreamId = () => streamId;
    const consuming = transport.consumeData({ dataProducerId: this.#options.source.id, ...reliability });
    delete numbered.allocateSctpStreamId;
    return this.#call(consuming);
  }

  async #flush(channel: Outgoing): Promise<void> {
    channel.busy = true;
    for (let next = channel.queue.shift(); next && !this.#closed; next = channel.queue.shift()) {
      channel.bytes -= next.length;
      await this.#deliver(channel, next);
    }
    channel.busy = false;
  }

  /** A reliable message waits while the send buffer of SCTP is full. */
  async #deliver({ consumer, reliable }: Outgoing, message: Buffer): Promise<void> {
    while (!this.#closed && !consumer.closed) {
      try {
        await consumer.send(message, payloadProtocol.binary);
        return;
      } catch {
        if (!reliable || consumer.closed) return;
        await new Promise<void>((resolve) => {
          consumer.once('bufferedamountlow', () => resolve());
          consumer.observer.once('close', () => resolve());
        });
      }
    }
  }

  async #call<Owned extends { close(): void }>(call: Promise<Owned>): Promise<Owned> {
    const owned = await this.#options.worker
      .call('open data channel', call, (late) => late.close())
      .catch((error: unknown) => {
        throw toWorkerError(error, mediaClosedError);
      });
    if (this.#closed) {
      owned.close();
      throw mediaClosedError();
    }
    this.#owned.push(owned);
    return owned;
  }
}
