// RTP egress: sends media of a room to a component as plain RTP over loopback.
import type { Consumer, PlainTransport, Router, RtpCapabilities } from 'mediasoup/types';
import type { ComponentMediaListener, EgressTrack, RtpAddress, RtpEgress } from '../rooms/interfaces.ts';
import { clientCapabilities, isRtx } from './codecs.ts';
import type { RoomLeg } from './legs/room-leg.ts';
import { mediaClosedError, toWorkerError, trackNotFoundError } from './media-error.ts';
import { ComponentTransport } from './plain-transport.ts';
import { consumeTrack } from './receivers/consume-track.ts';
import { SingleFlight } from './single-flight.ts';

export type RtpEgressTransportOptions = { listener: ComponentMediaListener; onClosed: () => void };

export class RtpEgressTransport implements RtpEgress {
  readonly #options: RtpEgressTransportOptions;
  readonly #sent = new SingleFlight<Consumer>(trackNotFoundError);
  readonly #transport: ComponentTransport;
  #closed = false;

  constructor(options: RtpEgressTransportOptions, at: RoomLeg) {
    this.#options = options;
    this.#transport = new ComponentTransport('egress', at);
  }

  connect(to: RtpAddress): Promise<RtpAddress> {
    return this.#transport.connect(to);
  }

  /** Its leg was lost, and with it its subscriptions. */
  move(to: RoomLeg): void {
    if (this.#closed) return;
    this.#sent.closeAll();
    const { interrupted, failed } = this.#options.listener;
    this.#transport.move(to).catch((error: unknown) => {
      if (!this.#closed && this.#transport.leg === to) failed(error);
    });
    interrupted();
  }

  async subscribe(trackId: string): Promise<EgressTrack> {
    const transport = await this.#transport.current();
    const router = await this.#transport.leg.leg.router();
    const { kind, rtpParameters } = await this.#sent.getOrMake(trackId, () => this.#consume(transport, router, trackId));
    const [codec] = rtpParameters.codecs;
    const ssrc = rtpParameters.encodings?.[0]?.ssrc;
    if (!codec || ssrc === undefined) throw trackNotFoundError(trackId);
    return { kind, ssrc, payloadType: codec.payloadType, clockRate: codec.clockRate, channels: codec.channels ?? 1 };
  }

  async resume(trackId: string): Promise<void> {
    this.#transport.assertOpen();
    const consumer = await this.#sent.get(trackId);
    if (!consumer) throw trackNotFoundError(trackId);
    await this.#transport.leg.leg.worker.call('resume', consumer.resume()).catch((error: unknown) => {
      throw toWorkerError(error, () => trackNotFoundError(trackId));
    });
  }

  unsubscribe(trackId: string): void {
    this.#sent.close(trackId);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#transport.close();
    this.#sent.closeAll();
    this.#options.onClosed();
  }

  async #consume(transport: PlainTransport, router: Router, trackId: string): Promise<Consumer> {
    const { consumer } = await consumeTrack(
      trackId,
      { ...this.#transport.leg, transport },
      {
        rtpCapabilities: receiverOf(router),
        onClosed: (closed) => this.#sent.ended(trackId, closed),
        toError: (error) => (transport.closed ? mediaClosedError() : toWorkerError(error, () => trackNotFoundError(trackId))),
      },
    );
    return consumer;
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
