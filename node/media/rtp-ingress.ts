// RTP ingress: receives media of a component as plain RTP over loopback.
import type { PlainTransport, Producer, RtpParameters } from 'mediasoup/types';
import type { PublishedTrackStats } from '../../api/stats.ts';
import type { Kind } from '../../api/track.ts';
import type { ComponentMediaListener, RtpAddress, RtpIngress, WireObject } from '../rooms/interfaces.ts';
import { describeTrack } from './codecs.ts';
import type { RoomLeg } from './legs/room-leg.ts';
import { closeAfterTimeout, mediaClosedError, toClientError, toWorkerError, trackNotFoundError } from './media-error.ts';
import { checkRtpParameters } from './parameters.ts';
import { ComponentTransport } from './plain-transport.ts';
import { rawStats } from './raw-stats.ts';
import { publishedTrackStats } from './stats.ts';

export type RtpIngressTransportOptions = { listener: ComponentMediaListener; onClosed: () => void };

/** `producer`: undefined while its leg is lost. */
type Published = { kind: Kind; rtpParameters: RtpParameters; paused: boolean; producer: Producer | undefined };

export class RtpIngressTransport implements RtpIngress {
  readonly #options: RtpIngressTransportOptions;
  readonly #published = new Map<string, Published>();
  readonly #transport: ComponentTransport;
  #closed = false;

  constructor(options: RtpIngressTransportOptions, at: RoomLeg) {
    this.#options = options;
    this.#transport = new ComponentTransport('ingress', at);
  }

  connect(from: RtpAddress): Promise<RtpAddress> {
    return this.#transport.connect(from);
  }

  async publish({ trackId, kind, rtpParameters }: Parameters<RtpIngress['publish']>[0]): Promise<{ encoding: string; simulcast: boolean }> {
    const transport = await this.#transport.current();
    const router = await this.#transport.leg.leg.router();
    const extensions = new Set(router.rtpCapabilities.headerExtensions?.map(({ uri }) => uri));
    const checked = checkRtpParameters(rtpParameters as WireObject, kind, extensions);
    const producer = await this.#produce(transport, trackId, { kind, rtpParameters: checked, paused: false });
    this.#published.set(trackId, { kind, rtpParameters: checked, paused: false, producer });
    return describeTrack(producer.rtpParameters);
  }

  /** Its leg was lost: publishes its tracks again, with the same ids and addresses. */
  move(to: RoomLeg): void {
    if (this.#closed) return;
    const { interrupted, failed } = this.#options.listener;
    for (const published of this.#published.values()) published.producer = undefined;
    this.#restore(to).catch((error: unknown) => {
      if (!this.#closed && this.#transport.leg === to) failed(error);
    });
    interrupted();
  }

  unpublish(trackId: string): void {
    const published = this.#published.get(trackId);
    this.#published.delete(trackId);
    published?.producer?.close();
  }

  async setPaused(trackId: string, paused: boolean): Promise<void> {
    this.#transport.assertOpen();
    const published = this.#published.get(trackId);
    if (!published) throw trackNotFoundError(trackId);
    published.paused = paused;
    const { producer } = published;
    if (!producer) return;
    const call = paused ? producer.pause() : producer.resume();
    await this.#transport.leg.leg.worker.call(paused ? 'pause' : 'resume', call).catch((error: unknown) => {
      throw toWorkerError(error, () => trackNotFoundError(trackId));
    });
  }

  async trackStats(): Promise<PublishedTrackStats[]> {
    this.#transport.assertOpen();
    const stats = [...this.#published.values()].map(async ({ producer }) => {
      const raw = producer && (await rawStats(this.#transport.leg.leg.worker, producer));
      return producer && raw && publishedTrackStats(producer, raw);
    });
    return (await Promise.all(stats)).filter((each) => each !== undefined);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#transport.close();
    this.#options.onClosed();
  }

  async #restore(to: RoomLeg): Promise<void> {
    const transport = await this.#transport.move(to);
    if (!transport) return;
    for (const [trackId, published] of this.#published) {
      if (published.producer) continue;
      const { paused } = published;
      const producer = await this.#produce(transport, trackId, published);
      // It was unpublished meanwhile.
      if (this.#published.get(trackId) !== published) {
        producer.close();
        continue;
      }
      published.producer = producer;
      if (published.paused !== paused) await this.setPaused(trackId, published.paused);
    }
    this.#options.listener.restored();
  }

  async #produce(
    transport: PlainTransport,
    trackId: string,
    track: Pick<Published, 'kind' | 'rtpParameters' | 'paused'>,
  ): Promise<Producer> {
    const { leg, tracks } = this.#transport.leg;
    const { kind, rtpParameters, paused } = track;
    const call = transport.produce({ id: trackId, kind, rtpParameters, paused });
    const producer = await leg.worker.call('publish', call, closeAfterTimeout).catch((error: unknown) => {
      throw transport.closed ? mediaClosedError() : toClientError(error, 'rtpParameters were');
    });
    if (this.#closed) {
      producer.close();
      throw mediaClosedError();
    }
    tracks.add(trackId, producer);
    return producer;
  }
}
