// RTP egress: sends media of a room to a component as plain RTP over loopback.
import type { Consumer, PlainTransport, Producer, Router, RtpCapabilities } from 'mediasoup/types';
import { ServiceError } from '../../api/errors.ts';
import type { EgressTrack, RtpAddress, RtpEgress } from '../rooms/interfaces.ts';
import { clientCapabilities, isRtx } from './codecs.ts';
import type { Leg } from './legs/leg.ts';
import type { LegTracks } from './legs/room-tracks.ts';
import { loopback } from './loopback.ts';
import { mediaClosedError, toWorkerError, trackNotFoundError } from './media-error.ts';
import { connectPlainTransport } from './plain-transport.ts';
import { consumeTrack } from './receivers/consume-track.ts';
import { SingleFlight } from './single-flight.ts';

export type RtpEgressTransportOptions = {
  leg: Leg;
  tracks: LegTracks<Producer>;
  onClosed: () => void;
};

export class RtpEgressTransport implements RtpEgress {
  readonly #options: RtpEgressTransportOptions;
  readonly #sent = new SingleFlight<Consumer>(trackNotFoundError);
  #transport: PlainTransport | undefined;
  #closed = false;

  constructor(options: RtpEgressTransportOptions) {
    this.#options = options;
  }

  async connect(to: RtpAddress): Promise<RtpAddress> {
    this.#assertOpen();
    if (this.#transport) throw new ServiceError('conflict', 'This egress is already connected');
    const transport = await connectPlainTransport(this.#options.leg, to, () => this.#assertOpen());
    this.#transport = transport;
    return { ip: loopback, port: transport.tuple.localPort };
  }

  async subscribe(trackId: string): Promise<EgressTrack> {
    this.#assertOpen();
    const transport = this.#transport;
    if (!transport) throw new ServiceError('conflict', 'This egress is not connected');
    const router = await this.#options.leg.router();
    const { kind, rtpParameters } = await this.#sent.getOrMake(trackId, () => this.#consume(transport, router, trackId));
    const [codec] = rtpParameters.codecs;
    const ssrc = rtpParameters.encodings?.[0]?.ssrc;
    if (!codec || ssrc === undefined) throw trackNotFoundError(trackId);
    return { kind, ssrc, payloadType: codec.payloadType, clockRate: codec.clockRate, channels: codec.channels ?? 1 };
  }

  async resume(trackId: string): Promise<void> {
    this.#assertOpen();
    const consumer = await this.#sent.get(trackId);
    if (!consumer) throw trackNotFoundError(trackId);
    await this.#options.leg.worker.call('resume', consumer.resume()).catch((error: unknown) => {
      throw toWorkerError(error, () => trackNotFoundError(trackId));
    });
  }

  unsubscribe(trackId: string): void {
    this.#sent.close(trackId);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#transport?.close();
    this.#sent.closeAll();
    this.#options.onClosed();
  }

  async #consume(transport: PlainTransport, router: Router, trackId: string): Promise<Consumer> {
    const { consumer } = await consumeTrack(
      trackId,
      { ...this.#options, transport },
      {
        rtpCapabilities: receiverOf(router),
        onClosed: (closed) => this.#sent.ended(trackId, closed),
        toError: (error) => (transport.closed ? mediaClosedError() : toWorkerError(error, () => trackNotFoundError(trackId))),
      },
    );
    return consumer;
  }

  #assertOpen(): void {
    if (this.#closed) throw mediaClosedError();
  }
}

/** Receives every codec of the room without retransmissions: loopback loses no packets. */
function receiverOf(router: Router): RtpCapabilities {
  const { codecs = [] } = clientCapabilities(router.rtpCapabilities);
  return {
    codecs: codecs
      .filter((codec) => !isRtx(codec))
      .map((codec) => ({
        ...codec,
        rtcpFeedback: codec.rtcpFeedback?.filter(({ type, parameter }) => type === 'nack' && parameter === 'pli'),
      })),
    headerExtensions: [],
  } as RtpCapabilities;
}
