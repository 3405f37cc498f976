// Data channels of a peer: data tracks that it publishes and receives over SCTP (RFC 8831).
import type { DataConsumer, DataProducer, WebRtcTransport } from 'mediasoup/types';
import { ServiceError } from '../../../api/errors.ts';
import type {
  DataSubscription,
  MessageChannel,
  MessageChannelListener,
  MessageChannels,
  PeerDataMedia,
  PublishDataOptions,
} from '../../rooms/interfaces.ts';
import type { Leg } from '../legs/leg.ts';
import type { LegTracks } from '../legs/room-tracks.ts';
import { closeAfterTimeout, mediaClosedError, toClientError, toWorkerError } from '../media-error.ts';
import { checkSctpStreamParameters, invalidParameter } from '../parameters.ts';
import type { PeerTransports } from '../peer-transports.ts';
import { rawStats } from '../raw-stats.ts';
import { SingleFlight } from '../single-flight.ts';
import { stripUndefined } from '../strip-undefined.ts';
import { arrival } from './arrival.ts';
import { DroppedMessages } from './dropped-messages.ts';
import { NodeMessageChannels } from './message-channels.ts';

export type PeerDataOptions = {
  leg: Leg;
  transports: PeerTransports;
  dataTracks: LegTracks<DataProducer>;
};

/** Maximum bytes of the label and of the protocol of a data channel; RFC 8832 allows 65535. */
const maxLabelBytes = 1024;

export class PeerData implements PeerDataMedia {
  readonly #options: PeerDataOptions;
  readonly #published = new SingleFlight<DataProducer>(noDataTrack);
  readonly #received = new SingleFlight<DataConsumer>(noDataTrack);
  readonly #dropped = new DroppedMessages();
  #messages: NodeMessageChannels | undefined;
  #closed = false;

  constructor(options: PeerDataOptions) {
    this.#options = options;
  }

  get canReceive(): boolean {
    return this.#options.transports.get('recv')?.sctpParameters !== undefined;
  }

  async publish({ transportId, dataTrackId, sctpStreamParameters, label, protocol }: PublishDataOptions): Promise<{ reliable: boolean }> {
    this.#assertOpen();
    const { leg, transports, dataTracks } = this.#options;
    const transport = withSctp(transports.byId(transportId, 'send'));
    const checked = checkSctpStreamParameters(sctpStreamParameters);
    if (Buffer.byteLength(label) > maxLabelBytes) throw invalidParameter(`label must be at most ${maxLabelBytes} bytes`);
    if (Buffer.byteLength(protocol) > maxLabelBytes) throw invalidParameter(`protocol must be at most ${maxLabelBytes} bytes`);
    if (dataTracks.has(dataTrackId) || this.#published.has(dataTrackId))
      throw new ServiceError('already_exists', `Data track ${dataTrackId} already exists`);
    await this.#published.getOrMake(dataTrackId, async () => {
      const call = transport.produceData({ id: dataTrackId, sctpStreamParameters: checked, label, protocol });
      const dataProducer = await leg.worker.call('publish data', call, closeAfterTimeout).catch((error: unknown) => {
        throw transport.closed ? mediaClosedError() : toClientError(error, 'sctpStreamParameters were');
      });
      dataTracks.add(dataTrackId, dataProducer);
      dataProducer.observer.once('close', () => this.#published.ended(dataTrackId, dataProducer));
      return dataProducer;
    });
    return { reliable: checked.maxRetransmits === undefined && checked.maxPacketLifeTime === undefined };
  }

  async arrived(dataTrackId: string, messages: number): Promise<void> {
    const { leg, dataTracks } = this.#options;
    const producer = await this.#published.get(dataTrackId)?.catch(() => undefined);
    if (!producer) return;
    await arrival(async () => {
      const [stats] = (await rawStats(leg.worker, producer)) ?? [];
      return stats ? messages - stats.messagesReceived : 0;
    });
    await Promise.all([...dataTracks.pipedOf(dataTrackId)].map(({ underWay }) => underWay && arrival(underWay)));
  }

  unpublish(dataTrackId: string): void {
    this.#published.close(dataTrackId);
  }

  async subscribe(dataTrackId: string, { paused } = { paused: false }): Promise<DataSubscription> {
    this.#assertOpen();
    const { transports, dataTracks } = this.#options;
    if (!dataTracks.has(dataTrackId)) throw noDataTrack(dataTrackId);
    const receiving = transports.get('recv');
    if (!receiving) throw new ServiceError('not_found', 'The peer has no receive transport');
    const transport = withSctp(receiving);
    const consumer = await this.#received.getOrMake(dataTrackId, () => this.#consume(transport, dataTrackId, paused));
    const { sctpStreamParameters, label, protocol } = consumer;
    return { transportId: transport.id, sctpStreamParameters: stripUndefined(sctpStreamParameters ?? {}), label, protocol };
  }

  async setPaused(dataTrackId: string, paused: boolean): Promise<void> {
    const consumer = await this.#receivedOne(dataTrackId);
    const call = paused ? consumer.pause() : consumer.resume();
    await this.#options.leg.worker.call('pause data', call).catch((error: unknown) => {
      throw toWorkerError(error, () => noDataTrack(dataTrackId));
    });
  }

  async sent(dataTrackId: string): Promise<number | undefined> {
    const consumer = await this.#receivedOne(dataTrackId);
    const [stats] = (await rawStats(this.#options.leg.worker, consumer)) ?? [];
    return stats && stats.messagesSent - this.#dropped.of(consumer);
  }

  unsubscribe(dataTrackId: string): void {
    this.#received.close(dataTrackId);
  }

  async openMessageChannels(channels: readonly MessageChannel[], listener: MessageChannelListener): Promise<MessageChannels> {
    this.#assertOpen();
    const { leg, transports } = this.#options;
    const [send, recv] = [transports.get('send'), transports.get('recv')];
    if (!send || !recv) throw new ServiceError('not_found', 'The peer does not have both transports');
    const options = { worker: leg.worker, send: withSctp(send), recv: withSctp(recv), channels, listener };
    const messages = new NodeMessageChannels({ ...options, ...(await leg.direct()) });
    this.#messages?.close();
    this.#messages = messages;
    await messages.open();
    return messages;
  }

  /** Before the transports: the media worker then still has what they consist of. Idempotent. */
  closeMessages(): void {
    this.#closed = true;
    this.#messages?.close();
  }

  /** After the transports, which end the data tracks. */
  close(): void {
    this.closeMessages();
    this.#published.closeAll();
    this.#received.closeAll();
  }

  async #consume(transport: WebRtcTransport, dataTrackId: string, paused: boolean): Promise<DataConsumer> {
    const { leg, dataTracks } = this.#options;
    const { release } = await dataTracks.hold(dataTrackId);
    const call = transport.consumeData({ dataProducerId: dataTrackId, paused });
    const consumer = await leg.worker.call('subscribe data', call, closeAfterTimeout).catch((error: unknown) => {
      release();
      throw toWorkerError(error, () => noDataTrack(dataTrackId));
    });
    this.#dropped.watch(consumer);
    consumer.observer.once('close', () => {
      release();
      this.#received.ended(dataTrackId, consumer);
    });
    return consumer;
  }

  async #receivedOne(dataTrackId: string): Promise<DataConsumer> {
    this.#assertOpen();
    const consumer = await this.#received.get(dataTrackId);
    if (!consumer) throw noDataTrack(dataTrackId);
    return consumer;
  }

  #assertOpen(): void {
    if (this.#closed) throw mediaClosedError();
  }
}

function withSctp(transport: WebRtcTransport): WebRtcTransport {
  if (!transport.sctpParameters) throw new ServiceError('conflict', `Transport ${transport.id} has no SCTP`);
  return transport;
}

export function noDataTrack(dataTrackId: string): ServiceError {
  return new ServiceError('track_not_found', `Data track ${dataTrackId} does not exist`);
}
