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

/** A data channel opened by this client. It is reopened automatically if a new session replaces the old one. */
export class DataChannel extends Emitter<{ open: null; closed: null; bufferedAmountLow: null }> {
  readonly label: string;
  readonly #options: DataChannelOptions;
  readonly #request: Request;
  readonly #onClose: (channel: DataChannel) => void;
  readonly #first: Deferred<void> = deferred();
  #producer: types.DataProducer | undefined;
  #over = false;

  constructor(label: string, options: DataChannelOptions, request: Request, onClose: (channel: DataChannel) => void) {
    super();
    this.label = label;
    this.#options = options;
    this.#request = request;
    this.#onClose = onClose;
  }

  get readyState(): RTCDataChannelState {
    return this.#over ? 'closed' : (this.#producer?.readyState ?? 'connecting');
  }

  /** Number of bytes not sent yet. */
  get bufferedAmount(): number {
    return this.#producer?.bufferedAmount ?? 0;
  }

  /** Resolves when the channel is open for the first time. */
  get opened(): Promise<void> {
    return this.#first.promise;
  }

  /** Sends a message to all peers that receive the channel. @throws DOMException `InvalidStateError` if the channel is not open. */
  send(message: string | ArrayBuffer | ArrayBufferView | Blob): void {
    if (!this.#producer || this.readyState !== 'open') throw new DOMException('The data channel is not open', 'InvalidStateError');
    this.#producer.send(message);
  }

  /** Idempotent. */
  close(): void {
    if (this.#over) return;
    const dataTrackId = this.#producer?.id;
    this.end(new SessionLostError());
    this.#onClose(this);
    if (dataTrackId !== undefined) this.#unpublish(dataTrackId);
  }

  /** Opens the channel in this session. */
  async openOver(session: MediaSession): Promise<void> {
    try {
      const producer = await session.produceData({ ...this.#options, label: this.label });
      if (this.#over || session.closed) {
        producer.close();
        if (!session.closed) this.#unpublish(producer.id);
        return;
      }
      this.#producer = producer;
      producer.on('bufferedamountlow', () => this.emit('bufferedAmountLow', null));
      if (producer.readyState === 'open') this.#open();
      else producer.on('open', () => this.#open());
    } catch (error) {
      if (session.closed || this.#over || error instanceof SessionLostError) return;
      this.end(error as Error);
      this.#onClose(this);
    }
  }

  unbind(): void {
    this.#producer = undefined;
  }

  /** Closes the channel. `why` rejects `opened` if it is pending. */
  end(why: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#first.reject(why);
    this.#first.promise.catch(() => {});
    this.#producer?.close();
    this.#producer = undefined;
    this.emit('closed', null);
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

  constructor(peerId: string, consumer: types.DataConsumer) {
    super();
    this.id = consumer.dataProducerId;
    this.peerId = peerId;
    this.label = consumer.label;
    this.protocol = consumer.protocol;
    consumer.binaryType = 'arraybuffer';
    consumer.on('message', (data: DataChannelMessage) => this.emit('message', { data }));
    consumer.observer.on('close', () => this.emit('closed', null));
  }
}
