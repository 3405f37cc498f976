// Data channels over SCTP: large or frequent messages between peers, independent of the WebSocket.
import type { types } from 'mediasoup-client';
import { Emitter } from './emitter.ts';
import { SessionLostError } from './errors.ts';
import type { MediaSession } from './media/media-session.ts';
import type { Request } from './media/transport-requests.ts';
import { type Deferred, deferred } from './pending.ts';

export type DataChannelOptions = {
  /** Deliver messages in order; default true. */
  ordered?: boolean;
  /** Maximum delivery time of a message in milliseconds; then it is dropped. */
  maxPacketLifeTime?: number;
  /** Maximum number of retransmissions of a message; then it is dropped. Excludes `maxPacketLifeTime`. */
  maxRetransmits?: number;
  protocol?: string;
};
export type DataChannelMessage = string | ArrayBuffer | Blob;

/** Bytes that a channel queues while it holds messages; as browsers do. */
const maxQueuedBytes = 16 * 1024 * 1024;

type Sent = Parameters<types.DataProducer['send']>[0];
/** What the channel is published with, in a session. */
type Published = { producer: types.DataProducer; session: MediaSession };

/** A data channel opened by this client. It is reopened automatically if a new session replaces the old one. */
export class DataChannel extends Emitter<{ open: null; closed: null; bufferedAmountLow: null }> {
  readonly label: string;
  readonly #options: DataChannelOptions;
  readonly #request: Request;
  readonly #onClose: (channel: DataChannel) => void;
  readonly #first: Deferred<void> = deferred();
  #published: Published | undefined;
  /** Over the path that this peer moves to. */
  #next: Published | undefined;
  #opening: { session: MediaSession; done: Promise<void> } | undefined;
  /** Number of messages sent with what is published. */
  #sent = 0;
  /** True while messages are queued, because receivers change to another channel. */
  #holds = false;
  #queue: Sent[] = [];
  #queuedBytes = 0;
  #over = false;

  constructor(label: string, options: DataChannelOptions, request: Request, onClose: (channel: DataChannel) => void) {
    super();
    this.label = label;
    this.#options = options;
    this.#request = request;
    this.#onClose = onClose;
  }

  get readyState(): RTCDataChannelState {
    if (this.#over) return 'closed';
    return this.#holds ? 'open' : (this.#published?.producer.readyState ?? 'connecting');
  }

  /** Number of bytes not sent yet. */
  get bufferedAmount(): number {
    return this.#queuedBytes + (this.#published?.producer.bufferedAmount ?? 0);
  }

  /** Resolves when the channel is open for the first time. */
  get opened(): Promise<void> {
    return this.#first.promise;
  }

  /**
   * Sends a message to all peers that receive the channel.
   * @throws DOMException `InvalidStateError` if the channel is not open, `OperationError` if too much is queued
   */
  send(message: string | ArrayBuffer | ArrayBufferView | Blob): void {
    if (!this.#published || this.readyState !== 'open') throw new DOMException('The data channel is not open', 'InvalidStateError');
    if (this.#holds) this.#keep(message);
    else this.#send(message);
  }

  /** Idempotent. */
  close(): void {
    if (this.#over) return;
    const dataTrackId = this.dataTrackId;
    this.end(new SessionLostError());
    this.#onClose(this);
    if (dataTrackId !== undefined) this.#unpublish(dataTrackId);
  }

  /** Internal, as all that follows. */
  get dataTrackId(): string | undefined {
    return this.#published?.producer.id;
  }

  /** Opens the channel in this session. */
  openOver(session: MediaSession): Promise<void> {
    const done = this.#openOver(session);
    this.#opening = { session, done };
    return done;
  }

  /** Publishes the channel over a second path too. @throws Error if the server rejects it */
  async publishToo(session: MediaSession): Promise<void> {
    await this.#opening?.done;
    const replaces = this.dataTrackId;
    if (this.#over || replaces === undefined) return;
    const producer = await session.produceData({ ...this.#options, label: this.label, appData: { replaces } });
    if (this.#over || session.closed) producer.close();
    else this.#next = this.#publishedWith(producer, session);
  }

  /** True if nothing is to be awaited before it is sent over this session. */
  isReadyOver(session: MediaSession): boolean {
    return this.#next?.session !== session || this.#next.producer.readyState === 'open';
  }

  /** True if it is published in this session, or is being published. */
  uses(session: MediaSession): boolean {
    return [this.#published, this.#next, this.#opening].some((each) => each?.session === session);
  }

  /** The second path ended. */
  stay(): void {
    this.#next = undefined;
  }

  /** Queues messages from now on. */
  hold(): void {
    if (!this.#published) return;
    this.#holds = true;
    this.#request('dataHeld', { dataTrackId: this.#published.producer.id, messages: this.#sent }).catch(() => {});
  }

  /** Sends again; `replaced`: over the second path. */
  continue(replaced: boolean): void {
    if (replaced && this.#next) {
      this.#published = this.#next;
      this.#next = undefined;
      this.#sent = 0;
      this.#holds = true;
    }
    if (this.#published?.producer.readyState === 'open') this.#flush();
  }

  unbind(): void {
    this.#published = undefined;
    this.#next = undefined;
    this.#sent = 0;
    this.#empty();
  }

  /** Closes the channel. `why` rejects `opened` if it is pending. */
  end(why: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#first.reject(why);
    this.#first.promise.catch(() => {});
    for (const published of [this.#published, this.#next]) published?.producer.close();
    this.unbind();
    this.emit('closed', null);
  }

  async #openOver(session: MediaSession): Promise<void> {
    try {
      const producer = await session.produceData({ ...this.#options, label: this.label });
      if (this.#over || session.closed) {
        producer.close();
        if (!session.closed) this.#unpublish(producer.id);
        return;
      }
      this.#published = this.#publishedWith(producer, session);
      if (producer.readyState === 'open') this.#open();
      else producer.on('open', () => this.#open());
    } catch (error) {
      if (session.closed || this.#over || error instanceof SessionLostError) return;
      this.end(error as Error);
      this.#onClose(this);
    }
  }

  #publishedWith(producer: types.DataProducer, session: MediaSession): Published {
    producer.on('bufferedamountlow', () => {
      if (this.#published?.producer === producer && this.#queue.length === 0) this.emit('bufferedAmountLow', null);
    });
    producer.on('open', () => {
      if (this.#published?.producer === producer && this.#holds) this.#flush();
    });
    return { producer, session };
  }

  #send(message: Sent): void {
    this.#published?.producer.send(message);
    this.#sent += 1;
  }

  #keep(message: string | ArrayBuffer | ArrayBufferView | Blob): void {
    const size = sizeOf(message);
    if (this.#queuedBytes + size > maxQueuedBytes) throw new DOMException('Too much is queued', 'OperationError');
    this.#queue.push(copyOf(message));
    this.#queuedBytes += size;
  }

  #flush(): void {
    const queue = this.#queue;
    this.#empty();
    for (const message of queue) this.#send(message);
  }

  #empty(): void {
    this.#holds = false;
    this.#queue = [];
    this.#queuedBytes = 0;
  }

  #unpublish(dataTrackId: string): void {
    this.#request('unpublishData', { dataTrackId }).catch(() => {});
  }

  #open(): void {
    this.#first.resolve();
    this.emit('open', null);
  }
}

/** A data channel opened by another peer. */
export class RemoteDataChannel extends Emitter<{ message: { data: DataChannelMessage }; closed: null }> {
  readonly id: string;
  readonly peerId: string;
  readonly label: string;
  readonly protocol: string;

  constructor(peerId: string, { dataProducerId, label, protocol }: Pick<types.DataConsumer, 'dataProducerId' | 'label' | 'protocol'>) {
    super();
    this.id = dataProducerId;
    this.peerId = peerId;
    this.label = label;
    this.protocol = protocol;
  }

  /** Internal. */
  received(data: DataChannelMessage): void {
    this.emit('message', { data });
  }

  /** Internal. */
  ended(): void {
    this.emit('closed', null);
  }
}

/** In bytes; of a text at least. */
export function sizeOf(message: string | ArrayBuffer | ArrayBufferView | Blob): number {
  if (typeof message === 'string') return message.length;
  return 'size' in message ? message.size : message.byteLength;
}

/** The application may change a buffer after it has sent it. */
function copyOf(message: string | ArrayBuffer | ArrayBufferView | Blob): Sent {
  if (message instanceof ArrayBuffer) return message.slice(0);
  if (ArrayBuffer.isView(message)) return new Uint8Array(message.buffer, message.byteOffset, message.byteLength).slice();
  return message;
}
