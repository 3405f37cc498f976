// Consumer of a track at the leg of its receiver: how peers, fixed streams and components receive.
import type { Consumer, ConsumerLayers, ConsumerOptions, Producer, RtpCapabilities, Transport } from 'mediasoup/types';
import { canReceive } from '../codecs.ts';
import type { Leg } from '../legs/leg.ts';
import type { LegTracks } from '../legs/room-tracks.ts';
import { closeAfterTimeout, toWorkerError, trackNotFoundError } from '../media-error.ts';
import type { Interest } from './demand.ts';
import { InitialLayerLimiter, initialLayers } from './initial-layers.ts';

export type Receiver = {
  leg: Leg;
  tracks: LegTracks<Producer>;
  transport: Transport;
};

export type ConsumeOptions = Pick<ConsumerOptions, 'rtpCapabilities' | 'mid'> & {
  /** The layers that the receiver gets from the beginning; default: all. */
  layersOf?: (track: Producer) => ConsumerLayers | undefined;
  onClosed: (consumer: Consumer) => void;
  /** The error to throw if the worker rejects the consumer. */
  toError: (error: unknown) => unknown;
};

/** `limiter`: it sets the layers of the consumer, if there is one. `interest`: what the consumer needs; it ends with it. */
export type ConsumedTrack = { consumer: Consumer; limiter: InitialLayerLimiter | undefined; interest: Interest };

/** The track, or else the same in another codec, that a receiver can decode: the id with which it is consumed. */
export function receivableId(tracks: LegTracks<Producer>, trackId: string, capabilities: RtpCapabilities): string | undefined {
  return tracks.codecsOf(trackId).find(([, producer]) => canReceive(producer, capabilities))?.[0];
}

/**
 * Creates a paused consumer. The track is piped to the leg until the consumer closes, and counts as load of its worker.
 * @throws ServiceError `track_not_found` or `unavailable`, and what `toError` returns
 */
export async function consumeTrack(
  trackId: string,
  { leg, tracks, transport }: Receiver,
  { rtpCapabilities, mid, layersOf, onClosed, toError }: ConsumeOptions,
): Promise<ConsumedTrack> {
  const { worker } = leg;
  const { made: producer, interest, release } = await tracks.hold(trackId);
  const initial = initialLayers(producer);
  const preferredLayers = initial ?? layersOf?.(producer);
  const options = {
    producerId: producer.id,
    rtpCapabilities,
    paused: true,
    appData: { trackId },
    ...(mid !== undefined && { mid }),
    ...(preferredLayers && { preferredLayers }),
  };
  const consumer = await worker.call('subscribe', transport.consume(options), closeAfterTimeout).catch((error: unknown) => {
    release();
    throw producer.closed ? trackNotFoundError(trackId) : toError(error);
  });
  leg.countForwarded(1);
  consumer.observer.once('close', () => {
    leg.countForwarded(-1);
    release();
    onClosed(consumer);
  });
  // If the track ended meanwhile, the worker's notification arrived before there was a listener.
  if (producer.closed) consumer.close();
  if (!initial) return { consumer, limiter: undefined, interest };
  const limiter = new InitialLayerLimiter(consumer, async (layers) => {
    await worker.call('set layers', consumer.setPreferredLayers(layers)).catch((error: unknown) => {
      throw toWorkerError(error, () => trackNotFoundError(trackId));
    });
  });
  return { consumer, limiter, interest };
}
