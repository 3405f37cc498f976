// RTP ingress: receives media of a component as plain RTP over loopback.
import type { PlainTransport, Producer } from 'mediasoup/types';
import { ServiceError } from '../../api/errors.ts';
import type { PublishedTrackStats } from '../../api/stats.ts';
import type { RtpAddress, RtpIngress, WireObject } from '../rooms/interfaces.ts';
import { describeTrack } from './codecs.ts';
import type { Leg } from './legs/leg.ts';
import type { LegTracks } from './legs/room-tracks.ts';
import { loopback } from './loopback.ts';
import { closeAfterTimeout, mediaClosedError, toClientError, toWorkerError, trackNotFoundError } from './media-error.ts';
import { checkRtpParameters } from './parameters.ts';
import { connectPlainTransport } from './plain-transport.ts';
import { rawStats } from './raw-stats.ts';
import { publishedTrackStats } from './stats.ts';

export type RtpIngressTransportOptions = {
  leg: Leg;
  tracks: LegTracks<Producer>;
  onClosed: () => void;
};

export class RtpIngressTransport implements RtpIngress {
  readonly #options: RtpIngressTransportOptions;
  readonly #published = new Map<string, Producer>();
  #transport: PlainTransport | undefined;
  #closed = false;

  constructor(options: RtpIngressTransportOptions) {
    this.#options = options;
  }

  async connect(from: RtpAddress): Promise<RtpAddress> {
    this.#assertOpen();
    if (this.#transport) throw new ServiceError('conflict', 'This ingress is already connected');
    const transport = await connectPlainTransport(this.#options.leg, from, () => this.#assertOpen());
    this.#transport = transport;
    return { ip: loopback, port: transport.tuple.localPort };
  }

  async publish({ trackId, kind, rtpParameters }: Parameters<RtpIngress['publish']>[0]): Promise<{ encoding: string; simulcast: boolean }> {
    this.#assertOpen();
    const transport = this.#transport;
    if (!transport) throw new ServiceError('conflict', 'This ingress is not connected');
    const { leg, tracks } = this.#options;
    const router = await leg.router();
    const extensions = new Set(router.rtpCapabilities.headerExtensions?.map(({ uri }) => uri));
    const checked = checkRtpParameters(rtpParameters as WireObject, kind, extensions);
    const call = transport.produce({ id: trackId, kind, rtpParameters: checked });
    const producer = await leg.worker.call('publish', call, closeAfterTimeout).catch((error: unknown) => {
      throw transport.closed ? mediaClosedError() : toClientError(error, 'rtpParameters were');
    });
    if (this.#closed) {
      producer.close();
      throw mediaClosedError();
    }
    tracks.add(trackId, producer);
    this.#published.set(trackId, producer);
    producer.observer.once('close', () => this.#published.delete(trackId));
    return describeTrack(producer.rtpParameters);
  }

  unpublish(trackId: string): void {
    this.#published.get(trackId)?.close();
  }

  async setPaused(trackId: string, paused: boolean): Promise<void> {
    this.#assertOpen();
    const producer = this.#published.get(trackId);
    if (!producer) throw trackNotFoundError(trackId);
    const call = paused ? producer.pause() : producer.resume();
    await this.#options.leg.worker.call(paused ? 'pause' : 'resume', call).catch((error: unknown) => {
      throw toWorkerError(error, () => trackNotFoundError(trackId));
    });
  }

  async trackStats(): Promise<PublishedTrackStats[]> {
    this.#assertOpen();
    const stats = [...this.#published.values()].map(async (producer) => {
      const raw = await rawStats(this.#options.leg.worker, producer);
      return raw && publishedTrackStats(producer, raw);
    });
    return (await Promise.all(stats)).filter((each) => each !== undefined);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#transport?.close();
    this.#options.onClosed();
  }

  #assertOpen(): void {
    if (this.#closed) throw mediaClosedError();
  }
}
